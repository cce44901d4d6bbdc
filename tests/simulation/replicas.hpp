// Draws worlds in which requests reach a node, or a replica, before those that they follow; knows no
// machine of the product.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/chance.hpp"
#include "simulation/plan.hpp"

namespace redlock::simulation {

/// Replaces the programs and the faults of `out`. A release that finds no key on a replica deletes
/// nothing and cannot raise the fence: the client must send it again, or the acquire takes the key
/// once the node is a master.
void draw_replicas(plan& out, chance& dice);

}  // namespace redlock::simulation

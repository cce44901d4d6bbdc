// Draws worlds whose programs have different ttl_max; knows no machine of the product.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/chance.hpp"
#include "simulation/plan.hpp"

namespace redlock::simulation {

/// A program asks for leases that are longer than the ttl_max which the nodes have on record, while
/// one of them does not see it. Two quorums share one node, which forgets; and a program with the
/// smaller ttl_max sees that one and the node that never knew of the longer leases.
void draw_ttl_maxes(plan& out, chance& dice);

}  // namespace redlock::simulation

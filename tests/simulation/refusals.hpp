// Draws worlds in which a node refuses releases for a while; knows no machine of the product.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/chance.hpp"
#include "simulation/plan.hpp"

namespace redlock::simulation {

/// Replaces the programs and the faults of `out`. A client must send a refused release again:
/// otherwise the key outlives the refusals by so much that the node counts as well again.
void draw_refusals(plan& out, chance& dice);

}  // namespace redlock::simulation

// Draws worlds with programs that only look; knows no machine of the product.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/chance.hpp"
#include "simulation/plan.hpp"

namespace redlock::simulation {

/// Beside all else processes look at holders, as `redlock inspect`, `list` and `watch` do.
/// Some name some of the nodes only, or have a larger ttl_max; some come when a node has lost its
/// data, or before any other program. They cost no node its vote. And some programs have only looked
/// until they ask for their first lock.
void draw_lookers(plan& out, chance& dice);

}  // namespace redlock::simulation

// Draws worlds in which commands of a broken connection come after the node was a replica for a
// moment; knows no machine of the product.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/chance.hpp"
#include "simulation/plan.hpp"

namespace redlock::simulation {

/// Replaces the programs and the faults of `out`. What such a command takes must be given back: the
/// release that came before it has to raise the fence, also on a replica, and so again.
void draw_late_commands(plan& out, chance& dice);

}  // namespace redlock::simulation

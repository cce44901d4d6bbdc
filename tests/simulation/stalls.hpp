// Draws worlds in which nodes and programs stand still for a moment.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/chance.hpp"
#include "simulation/plan.hpp"

namespace redlock::simulation {

/// Makes such a world of one that is drawn already.
void draw_stalls(plan& out, chance& dice);

}  // namespace redlock::simulation

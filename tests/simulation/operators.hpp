// Draws worlds with an operator; knows no machine of the product.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/chance.hpp"
#include "simulation/plan.hpp"

namespace redlock::simulation {

/// Beside all else an operator takes resources from their holders, as `redlock release --force`
/// does.
void draw_revocations(plan& out, chance& dice);

}  // namespace redlock::simulation

// Draws worlds in which grants come late; knows no machine of the product.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/chance.hpp"
#include "simulation/plan.hpp"

namespace redlock::simulation {

/// A program whose leases keep others out for a while stands still now and then while a grant is on
/// its way to it, and is killed soon after. Another tries to get the same lock all the time.
void draw_late_grants(plan& out, chance& dice);

}  // namespace redlock::simulation

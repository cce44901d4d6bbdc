// Draws worlds in which a program comes back to clocks that are behind those that it followed; knows
// no machine of the product.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/chance.hpp"
#include "simulation/plan.hpp"

namespace redlock::simulation {

/// A program that followed clocks that are ahead waits for a lock in line with others that take it
/// in turns all the time: it gets its turn like they do.
void draw_tickets(plan& out, chance& dice);

}  // namespace redlock::simulation

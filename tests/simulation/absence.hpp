// Draws worlds in which no program runs for long; knows no machine of the product.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/chance.hpp"
#include "simulation/plan.hpp"

namespace redlock::simulation {

/// Replaces the programs, the faults, the nodes' distances and their clocks. While no program runs
/// some clocks move, and no client compares them. The program that starts then must write all
/// records by one cluster time: later two programs that see other nodes go on from these records.
void draw_absence(plan& out, chance& dice);

}  // namespace redlock::simulation

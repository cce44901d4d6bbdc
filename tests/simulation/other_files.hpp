// Draws worlds in which a server loads the files of an earlier life; knows no machine of the
// product.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/chance.hpp"
#include "simulation/plan.hpp"

namespace redlock::simulation {

/// Two quorums share one node. It is run without its append-only file for a while, and in this life
/// it grants a lock to a program; then it is run with that file again, and another program asks it.
void draw_other_files(plan& out, chance& dice);

}  // namespace redlock::simulation

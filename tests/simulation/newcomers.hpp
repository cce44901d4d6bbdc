// Draws worlds in which many programs meet new nodes at once; knows no machine of the product.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/chance.hpp"
#include "simulation/plan.hpp"

namespace redlock::simulation {

/// Replaces the programs and the faults of `out`. Each program may make a record on some of the
/// nodes first; all but one take theirs back, and that one opens the cluster.
void draw_newcomers(plan& out, chance& dice);

}  // namespace redlock::simulation

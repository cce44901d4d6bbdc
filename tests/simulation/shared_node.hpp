// Draws worlds in which two quorums share one node, whose record alone tells what befell it.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/chance.hpp"
#include "simulation/plan.hpp"

namespace redlock::simulation {

/// Replaces the programs, the faults, the distances and the clocks of `out`. A keeper renews its
/// lease by a quorum, and is then cut off from one node of it. Something befalls the memory of that
/// node, and a rival comes that sees it and those nodes that never knew of the keeper: two
/// hold the lock if the node votes. No client but those drawn here can know that it must not.
void draw_shared_node(plan& out, chance& dice);

}  // namespace redlock::simulation

// Draws worlds with an operator; knows no machine of the product.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/chance.hpp"
#include "simulation/plan.hpp"

namespace redlock::simulation {

/// While no program runs nodes lose their data, and an operator declares all of them new, as
/// `redlock init` does; or none loses any, and no program has compared their clocks yet. Then one of
/// them hangs, and a program begins: it is never refused for lack of votes.
void draw_first_tries(plan& out, chance& dice);

/// A fence that is far ahead was written by hand on one node, or into tokens that are used. An
/// operator takes the resource from its holders now and then. The other nodes grant it all the same.
void draw_wrong_fences(plan& out, chance& dice);

}  // namespace redlock::simulation

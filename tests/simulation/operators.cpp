// Draws worlds with an operator.
// SPDX-License-Identifier: MIT
#include "simulation/operators.hpp"

#include "simulation/visits.hpp"

#include <chrono>

namespace redlock::simulation {

using namespace std::chrono_literals;

void draw_revocations(plan& out, chance& dice) {
    const duration longest = 2 * duration(out.connect_timeout) + 6 * out.longest_node_timeout();
    add_visits(out, dice, add_brief_program(out, dice, errand::revoke),
               dice.between_orders(200ms, 10s), longest);
}

}  // namespace redlock::simulation

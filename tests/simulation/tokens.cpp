// Draws who hands over tokens, and when a process comes that uses one and ends.
// SPDX-License-Identifier: MIT
#include "simulation/tokens.hpp"

#include "simulation/visits.hpp"

#include <array>
#include <chrono>

namespace redlock::simulation {

using namespace std::chrono_literals;

void draw_tokens(plan& out, chance& dice) {
    for (program_plan& p : out.programs) {
        p.hands_over = dice.pick(std::array{0.1, 0.4, 0.9});
    }
    const duration pause = dice.between_orders(50ms, 5s);
    const duration longest = 2 * duration(out.connect_timeout) + 4 * out.longest_node_timeout();
    add_visits(out, dice, add_brief_program(out, dice, errand::token), pause, longest);
}

}  // namespace redlock::simulation

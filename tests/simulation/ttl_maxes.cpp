// Draws worlds whose programs have different ttl_max.
// SPDX-License-Identifier: MIT
#include "simulation/ttl_maxes.hpp"

#include "simulation/two_quorums.hpp"

#include <chrono>

namespace redlock::simulation {

void draw_ttl_maxes(plan& out, chance& dice) {
    using namespace std::chrono_literals;
    using namespace two_quorums;
    clear(out, dice);
    out.ttl_max = milliseconds(dice.between(20'000, 60'000));
    const milliseconds small = milliseconds(dice.between(2'000, 5'000));
    const duration begun = 2 * duration(out.connect_timeout) + 1s;
    const duration raised = 2 * begun;
    const duration at = raised + begun + dice.between(0ms, 5s);
    out.length = at + out.ttl_max;
    add_program(out, dice, raised, out.ttl_max).is_keeper = true;
    add_program(out, dice, at + dice.between(5ms, 300ms), small).is_rival = true;
    add_program(out, dice, 0ms, small).is_rival = true;
    cut_off(out, the_keeper, 0ms, node_of_rival);
    cut_off(out, the_keeper, at, node_of_both);
    cut_off(out, the_rival, 0ms, node_of_keeper);
    out.faults.push_back(
        {.kind = fault_kind::kill, .at = begun, .lasts = out.length, .programs = the_helper});
    out.faults.push_back(
        {.kind = fault_kind::crash_lose, .at = at, .lasts = 5ms, .nodes = node_of_both});
}

}  // namespace redlock::simulation

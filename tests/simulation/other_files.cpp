// Draws worlds in which a server loads the files of an earlier life.
// SPDX-License-Identifier: MIT
#include "simulation/other_files.hpp"

#include "simulation/two_quorums.hpp"
#include "simulation/visits.hpp"

#include <chrono>

namespace redlock::simulation {

void draw_other_files(plan& out, chance& dice) {
    using namespace std::chrono_literals;
    using namespace two_quorums;
    clear(out, dice);
    for (node_plan& n : out.nodes) n.is_durable = true;
    out.ttl_max = milliseconds(dice.between(10'000, 40'000));
    const duration ttl = out.ttl_max;
    const duration begun = 2 * duration(out.connect_timeout) + 1s;
    const bool is_declared = dice.happens(0.5);
    const duration emptied = begun + dice.between(0ms, 6s);
    // The second life has a vote when its quarantine is over; or at once, if an operator says so.
    const duration votes =
        is_declared ? emptied + 100ms : emptied + out.aftermath(fault_kind::swap_files);
    const duration held = votes + 2 * begun;
    const duration back = held + dice.between(0ms, ttl / 8);
    out.length = back + ttl;
    add_program(out, dice, is_declared ? votes + begun : 0ms, out.ttl_max).is_keeper = true;
    add_program(out, dice, back + dice.between(0ms, 300ms), out.ttl_max).is_rival = true;
    cut_off(out, the_keeper, is_declared ? 0ms : begun, node_of_rival);
    cut_off(out, the_keeper, back, node_of_both);
    cut_off(out, the_rival, 0ms, node_of_keeper);
    for (const duration at : {emptied, back}) {
        out.faults.push_back({.kind = fault_kind::swap_files, .at = at, .nodes = node_of_both});
    }
    if (!is_declared) return;
    // Of the first life's program nothing is left when the operator says so.
    add_program(out, dice, 0ms, out.ttl_max).is_rival = true;
    out.faults.push_back(
        {.kind = fault_kind::kill, .at = emptied, .lasts = out.length, .programs = the_helper});
    out.faults.push_back({.kind = fault_kind::declare,
                          .at = votes,
                          .nodes = node_of_keeper | node_of_both | node_of_rival,
                          .programs = add_brief_program(out, dice, errand::init)});
}

}  // namespace redlock::simulation

// Draws worlds in which two quorums share one node, which comes back with less than it had.
// SPDX-License-Identifier: MIT
#include "simulation/rare_worlds.hpp"
#include "simulation/visits.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace redlock::simulation {

namespace {

using namespace std::chrono_literals;

// The nodes by their numbers, as bits.
constexpr std::uint32_t node_of_keeper = 1U << 0;
constexpr std::uint32_t node_of_both = 1U << 1;
constexpr std::uint32_t node_of_rival = 1U << 2;

// The programs likewise.
constexpr std::uint32_t the_keeper = 1U << 0;
constexpr std::uint32_t the_rival = 1U << 1;
constexpr std::uint32_t the_helper = 1U << 2;  // of whom the nodes have their records

void begin_with_three(plan& out, chance& dice) {
    clear(out, 1);
    out.nodes.resize(3, out.nodes.front());
    for (node_plan& n : out.nodes) {
        n.is_durable = false;
        n.clock_offset = dice.between(-100ms, 100ms);
        n.drift_ppm = 0;  // no record suits two programs that see other clocks
        n.latency = std::min<duration>(n.latency, duration(out.node_timeout) / 10);
    }
}

// Its leases are long.
program_plan& add_holder(plan& out, chance& dice, duration begins, milliseconds ttl_max) {
    program_plan& p = add_program(out, dice, begins);
    p.longest_think = 50ms;
    p.ttl_max = ttl_max;
    p.longest_ttl = ttl_max * dice.between(50, 90) / 100;
    return p;
}

}  // namespace

void draw_ttl_maxes(plan& out, chance& dice) {
    begin_with_three(out, dice);
    out.ttl_max = milliseconds(dice.between(20'000, 60'000));
    const milliseconds small = milliseconds(dice.between(2'000, 5'000));
    const duration begun = 2 * duration(out.connect_timeout) + 1s;
    const duration raised = 2 * begun;
    const duration at = raised + begun + dice.between(0ms, 5s);
    out.length = at + out.ttl_max;
    add_holder(out, dice, raised, out.ttl_max).is_keeper = true;
    add_holder(out, dice, at + dice.between(5ms, 300ms), small).is_rival = true;
    add_holder(out, dice, 0ms, small).is_rival = true;
    cut_off(out, the_keeper, 0ms, node_of_rival);
    cut_off(out, the_keeper, at, node_of_both);
    cut_off(out, the_rival, 0ms, node_of_keeper);
    out.faults.push_back(
        {.kind = fault_kind::kill, .at = begun, .lasts = out.length, .programs = the_helper});
    out.faults.push_back(
        {.kind = fault_kind::crash_lose, .at = at, .lasts = 5ms, .nodes = node_of_both});
}

void draw_other_files(plan& out, chance& dice) {
    begin_with_three(out, dice);
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
    add_holder(out, dice, is_declared ? votes + begun : 0ms, out.ttl_max).is_keeper = true;
    add_holder(out, dice, back + dice.between(0ms, 300ms), out.ttl_max).is_rival = true;
    cut_off(out, the_keeper, is_declared ? 0ms : begun, node_of_rival);
    cut_off(out, the_keeper, back, node_of_both);
    cut_off(out, the_rival, 0ms, node_of_keeper);
    for (const duration at : {emptied, back}) {
        out.faults.push_back({.kind = fault_kind::swap_files, .at = at, .nodes = node_of_both});
    }
    if (!is_declared) return;
    // Of the first life's program nothing is left when the operator says so.
    add_holder(out, dice, 0ms, out.ttl_max).is_rival = true;
    out.faults.push_back(
        {.kind = fault_kind::kill, .at = emptied, .lasts = out.length, .programs = the_helper});
    out.faults.push_back({.kind = fault_kind::declare,
                          .at = votes,
                          .nodes = node_of_keeper | node_of_both | node_of_rival,
                          .programs = add_brief_program(out, dice, errand::init)});
}

}  // namespace redlock::simulation

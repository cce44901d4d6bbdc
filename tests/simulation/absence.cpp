// Draws worlds in which no program runs for long.
// SPDX-License-Identifier: MIT
#include "simulation/rare_worlds.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::simulation {

namespace {

using namespace std::chrono_literals;

// The programs by their numbers, as bits, and the nodes likewise.
constexpr std::uint32_t first = 1U << 0;
constexpr std::uint32_t second = 1U << 1;
constexpr std::uint32_t near_nodes = 0b00111;  // a quorum that answers before the others
constexpr std::uint32_t far_nodes = 0b11000;

// The far nodes answer a handshake after the near ones, and before these can answer what a client
// sends them next.
void draw_nodes(plan& out, chance& dice) {
    out.ttl_max = 40'000ms;
    out.nodes.resize(5, out.nodes.front());
    const duration near = dice.between(100us, duration(out.node_timeout) / 16);
    for (std::size_t i = 0; i < out.nodes.size(); ++i) {
        node_plan& n = out.nodes[i];
        n.clock_offset = dice.between(-200ms, 200ms);
        n.drift_ppm = 0;  // no record suits two programs that see other clocks
        n.latency = (near_nodes >> i & 1U) != 0 ? near : near * 5 / 4;
    }
}

void add_rival(plan& out, chance& dice, duration begins) {
    program_plan& p = add_program(out, dice, begins);
    p.longest_ttl = 2'000ms;
    p.longest_think = 1s;
    p.is_rival = true;
}

}  // namespace

void draw_absence(plan& out, chance& dice) {
    draw_nodes(out, dice);
    clear(out, 1);
    const duration stops = dice.between(8s, 12s);
    const duration away = dice.between(800s, 1'500s);
    const duration back = stops + away;
    const duration later = back + out.aftermath(fault_kind::cut) + dice.between(10s, 30s);
    out.length = later + 60s;
    add_rival(out, dice, 0ms);
    add_rival(out, dice, later);
    out.faults.push_back(
        {.kind = fault_kind::kill, .at = stops, .lasts = away, .programs = first});
    // Two of the near clocks move by less than clocks may drift in that time.
    const std::size_t stays = dice.below(3);
    for (std::size_t i = 0; i < 3; ++i) {
        if (i == stays) continue;
        out.faults.push_back({.kind = fault_kind::step_clock,
                              .at = stops + dice.between(away / 4, away / 2),
                              .nodes = 1U << i,
                              .amount = dice.between(3s, 6s)});
    }
    // The first program sees all nodes when it starts again, and only the near ones when it reads
    // the clocks for the second time. Later the second program sees the far ones and a near one.
    const std::uint32_t shared = 1U << dice.below(3);
    cut_off(out, first, back + dice.between(1s, 4'500ms), far_nodes);
    cut_off(out, second, 0ms, near_nodes & ~shared);
}

}  // namespace redlock::simulation

// Draws worlds in which nodes and programs stand still for a moment.
// SPDX-License-Identifier: MIT
#include "simulation/rare_worlds.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::simulation {

namespace {

using namespace std::chrono_literals;

// Near nodes with clocks that run true. The time-outs are measured.
void draw_near_nodes(plan& out, chance& dice) {
    out.ttl_max = 30'000ms;
    out.node_timeout = 0ms;
    out.connect_timeout = 2'000ms;
    bring_near(out);
    for (node_plan& n : out.nodes) n.latency = dice.between_orders(100us, 2ms);
}

constexpr std::uint32_t napper = 1U << 0;

// About leases that are short a node has less time. The first program, which stands still now and
// then, does nothing but try.
void draw_steady_programs(plan& out, chance& dice) {
    clear(out, 12);
    for (const std::size_t workers : {std::size_t{1}, std::size_t{6}}) {
        program_plan& p = add_program(out, dice);
        p.workers = workers;
        p.is_rival = workers == 1;
        p.longest_ttl = milliseconds(dice.between(2'500, 10'000));
        p.longest_think = dice.between(10ms, 50ms);
    }
}

}  // namespace

// A quorum of nodes stalls for a moment, as by an fsync or a fork. In half of the cases a program
// stands still meanwhile: for so long that its timers are due, and not for longer than they allow.
void draw_stalls(plan& out, chance& dice) {
    draw_near_nodes(out, dice);
    draw_steady_programs(out, dice);
    duration at = out.aftermath(fault_kind::cut);
    for (std::int64_t left = dice.between(6, 20); left > 0; --left) {
        fault stall{.kind = fault_kind::hitch, .at = at, .lasts = dice.between(55ms, 200ms)};
        for (std::size_t n = 0; n < out.nodes.size(); ++n) {
            if (n < out.quorum() || dice.happens(0.5)) stall.nodes |= 1U << n;
        }
        out.faults.push_back(stall);
        if (dice.happens(0.5)) {
            out.faults.push_back({.kind = fault_kind::nap,
                                  .at = at + dice.between(1ms, stall.lasts),
                                  .lasts = dice.between(300ms, 1'000ms),
                                  .programs = napper});
            at += 1s;
        }
        at += stall.lasts + dice.between(300ms, 3s);
    }
    out.length = at;
}

}  // namespace redlock::simulation

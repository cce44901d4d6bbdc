// Draws worlds in which a program comes back to clocks that are behind those that it followed.
// SPDX-License-Identifier: MIT
#include "simulation/tickets.hpp"

#include "core/lease.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace redlock::simulation {

void draw_tickets(plan& out, chance& dice) {
    using namespace std::chrono_literals;
    out.ttl_max = milliseconds(dice.between(40'000, 120'000));
    out.connect_timeout = 200ms;  // an unseen node must not take the time of the whole world
    out.tail = 0;
    out.resources = 1;
    out.foreigners.clear();
    out.faults.clear();
    out.programs.clear();
    out.nodes.resize(3, out.nodes.front());
    for (node_plan& n : out.nodes) {
        n.clock_offset = 0ms;
        n.drift_ppm = 0;  // no record suits two programs that see other clocks
        n.latency = std::min<duration>(n.latency, 1ms);
    }
    out.nodes.back().clock_offset = core::fence_tolerance(out.ttl_max) * dice.between(60, 92) / 100;
    for (int i = 0; i < 3; ++i) {
        program_plan& p = out.programs.emplace_back();
        p.begins = dice.between(0ms, 50ms);
        p.longest_ttl = i == 0 ? 5'000ms : 20ms;
        p.longest_think = 2ms;
        p.is_duellist = true;
    }
    out.most_turns = 20;
    const duration back = dice.between(2s, 6s);
    out.length = back + 15s;
    out.faults.push_back({.kind = fault_kind::partition,
                          .at = 0ms,
                          .lasts = back,
                          .nodes = 1U << 0,
                          .programs = 1U << 0});
}

}  // namespace redlock::simulation

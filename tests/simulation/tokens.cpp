// Draws which programs hand over tokens, and when a process comes that uses one and ends.
// SPDX-License-Identifier: MIT
#include "simulation/tokens.hpp"

#include "core/lease.hpp"

#include <algorithm>
#include <chrono>

namespace redlock::simulation {

using namespace std::chrono_literals;

void draw_tokens_ahead(plan& out, chance& dice) {
    out.ttl_max = milliseconds(dice.between(30'000, 120'000));
    out.tail = 0;
    out.resources = 1;
    out.foreigners.clear();
    out.faults.clear();
    out.programs.clear();
    out.nodes.resize(3, out.nodes.front());
    for (node_plan& n : out.nodes) {
        n.clock_offset = 0ms;
        n.drift_ppm = 0;  // no record suits two programs that see other clocks
        n.latency = std::min<duration>(n.latency, duration(out.node_timeout) / 10);
    }
    out.nodes.back().clock_offset = core::fence_tolerance(out.ttl_max) * dice.between(40, 92) / 100;
    for (int i = 0; i < 3; ++i) {
        program_plan& p = out.programs.emplace_back();
        p.begins = dice.between(0ms, 50ms);
        p.drift_ppm = dice.between(-4'900, 4'900);
        p.longest_ttl = 5'000ms;
        p.longest_think = 500ms;
        p.is_rival = i > 0;
        p.hands_over = i < 2 ? 1.0 : 0.0;
    }
    out.programs.front().keeps = 1.0;
    out.length = 3min;
    out.faults.push_back({.kind = fault_kind::partition,
                          .at = 0ms,
                          .lasts = out.length,
                          .nodes = 1U << 0,
                          .programs = 1U << 1});
}

}  // namespace redlock::simulation

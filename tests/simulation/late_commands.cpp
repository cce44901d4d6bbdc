// Draws worlds in which commands of a broken connection come after the node was a replica for a
// moment.
// SPDX-License-Identifier: MIT
#include "simulation/late_commands.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::simulation {

namespace {

using namespace std::chrono_literals;

// Now and then a message takes long, and what is sent behind it comes behind it. What an acquire
// sends is still good then.
void draw_tardy_nodes(plan& out, chance& dice) {
    out.ttl_max = 10'000ms;
    out.tail = 0.05;
    out.tail_delay = dice.between(400ms, 900ms);
    if (out.nodes.size() < 3) out.nodes.resize(3, out.nodes.front());
    for (node_plan& n : out.nodes) {
        n.clock_offset = std::clamp<duration>(n.clock_offset, -1s, 1s);
        n.latency = std::min<duration>(n.latency, 1ms);
    }
}

// Each resource is acquired so seldom that its fence on a node stays as it is for a while; or
// readers share it, whose fences do not refuse each other.
void draw_patient_programs(plan& out, chance& dice) {
    out.foreigners.clear();
    const bool are_readers = dice.happens(0.5);
    out.resources = are_readers ? 2 : 8;
    out.programs.clear();
    for (int i = 0; i < 2; ++i) {
        program_plan& p = out.programs.emplace_back();
        p.begins = dice.between(0ms, 50ms);
        p.drift_ppm = dice.between(-4'900, 4'900);
        p.workers = 4;
        p.longest_ttl = milliseconds(dice.between(500, 5'000));
        p.longest_think = dice.between(300ms, 2s);
        p.reads = are_readers ? 0.95 : 0;
    }
}

}  // namespace

// A connection breaks, in most cases while the node is a replica. The client connects again and
// releases there what it may have left, and the node is a master again before the client looks at
// it once more.
void draw_late_commands(plan& out, chance& dice) {
    draw_tardy_nodes(out, dice);
    draw_patient_programs(out, dice);
    out.faults.clear();
    duration at = out.aftermath(fault_kind::kill);
    for (std::int64_t left = dice.between(6, 12); left > 0; --left) {
        const std::uint32_t node = 1U << dice.below(out.nodes.size());
        const duration before = dice.between_orders(100us, 50ms);
        const duration lasts = before + dice.between(10ms, 400ms);
        if (dice.happens(0.7)) {
            out.faults.push_back(
                {.kind = fault_kind::read_only, .at = at, .lasts = lasts, .nodes = node});
        }
        out.faults.push_back({.kind = fault_kind::cut,
                              .at = at + before,
                              .nodes = node,
                              .programs = 1U << dice.below(out.programs.size())});
        at += lasts + dice.between(2s, 12s);
    }
    out.length = at;
}

}  // namespace redlock::simulation

// Draws worlds in which commands of a broken connection come after the node was a replica for a
// moment.
// SPDX-License-Identifier: MIT
#include "simulation/rare_worlds.hpp"

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
    bring_near(out);
    out.tail_delay = dice.between(400ms, 900ms);
}

// Each resource is acquired so seldom that its fence on a node stays as it is for a while; or
// readers share it, whose fences do not refuse each other.
void draw_patient_programs(plan& out, chance& dice) {
    const bool are_readers = dice.happens(0.5);
    clear(out, are_readers ? 2 : 8);
    out.tail = 0.05;
    for (int i = 0; i < 2; ++i) {
        program_plan& p = add_program(out, dice);
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

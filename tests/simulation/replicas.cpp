// Draws worlds in which requests reach a node, or a replica, before those that they follow.
// SPDX-License-Identifier: MIT
#include "simulation/rare_worlds.hpp"

#include <chrono>
#include <cstdint>

namespace redlock::simulation {

namespace {

using namespace std::chrono_literals;

void draw_near_nodes(plan& out) {
    out.ttl_max = 10'000ms;
    bring_near(out);
}

// Most leases are short, and a resource is free for a while before a worker takes it again: its
// fence on a node stays below that of an acquire which arrives late.
void draw_brief_programs(plan& out, chance& dice) {
    clear(out, 8);
    for (int i = 0; i < 2; ++i) {
        program_plan& p = add_program(out, dice);
        p.workers = 4;
        p.longest_ttl = milliseconds(dice.between(300, 1'500));
        p.longest_think = dice.between(50ms, 300ms);
    }
}

// What the programs send to the node in this time arrives when it is a master again. Meanwhile one
// program's connection breaks; the program connects again to a replica, and releases there. Or the
// node is none: then it prolongs there what the acquire on its way takes once more.
duration draw_detour(plan& out, chance& dice, duration at, bool is_replica) {
    const std::uint32_t node = 1U << dice.below(out.nodes.size());
    const duration slow = dice.between(50ms, 150ms);
    const duration demoted = dice.between(1ms, 10ms);
    const duration lasts = demoted + dice.between(50ms, 300ms);
    out.faults.push_back({.kind = fault_kind::lag,
                          .at = at,
                          .lasts = slow,
                          .nodes = node,
                          .amount = slow + 300ms + dice.between(50ms, 400ms)});
    if (is_replica) {
        out.faults.push_back({.kind = fault_kind::read_only,
                              .at = at + slow - demoted,
                              .lasts = lasts,
                              .nodes = node});
    }
    out.faults.push_back({.kind = fault_kind::cut,
                          .at = at + slow,
                          .nodes = node,
                          .programs = 1U << dice.below(out.programs.size())});
    return at + slow + lasts;
}

}  // namespace

void draw_replicas(plan& out, chance& dice) {
    draw_near_nodes(out);
    draw_brief_programs(out, dice);
    duration at = out.aftermath(fault_kind::kill);
    out.has_detours = chance(out.seed, stream::detours).happens(0.4);
    // Until the next one the clients look at the node again, every five seconds.
    for (std::int64_t left = dice.between(5, 9); left > 0; --left) {
        at = draw_detour(out, dice, at, !out.has_detours) + dice.between(6s, 10s);
    }
    out.length = at;
}

}  // namespace redlock::simulation

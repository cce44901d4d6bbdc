// Draws worlds in which one node's clock is ahead, and one program can't see one whose clock is right.
// SPDX-License-Identifier: MIT
#include "simulation/rare_worlds.hpp"

#include "core/lease.hpp"

#include <chrono>

namespace redlock::simulation {

using namespace std::chrono_literals;

void draw_tickets(plan& out, chance& dice) {
    out.ttl_max = milliseconds(dice.between(40'000, 120'000));
    out.connect_timeout = 200ms;  // an unseen node must not take the time of the whole world
    clear(out, 1);
    set_last_ahead(out, core::fence_tolerance(out.ttl_max) * dice.between(60, 92) / 100, 1ms);
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

void draw_tokens_ahead(plan& out, chance& dice) {
    out.ttl_max = milliseconds(dice.between(30'000, 120'000));
    clear(out, 1);
    set_last_ahead(out, core::fence_tolerance(out.ttl_max) * dice.between(40, 92) / 100, duration(out.node_timeout) / 10);
    for (int i = 0; i < 3; ++i) {
        program_plan& p = add_program(out, dice);
        p.longest_ttl = 5'000ms;
        p.longest_think = 500ms;
        p.is_rival = i > 0;
        p.hands_over = i < 2 ? 1.0 : 0.0;
    }
    out.programs.front().keeps = 1.0;
    out.length = 3min;
    cut_off(out, 1U << 1, 0ms, 1U << 0);
}

}  // namespace redlock::simulation

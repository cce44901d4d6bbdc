// Draws worlds in which grants come late.
// SPDX-License-Identifier: MIT
#include "simulation/rare_worlds.hpp"

#include <array>
#include <chrono>
#include <cstdint>

namespace redlock::simulation {

using namespace std::chrono_literals;

// The nodes are so far away that a program is often stopped between a question and its answer.
void draw_late_grants(plan& out, chance& dice) {
    out.ttl_max = milliseconds(dice.between(8'000, 12'000));
    out.node_timeout = milliseconds(dice.pick(std::array{500, 1'000}));
    out.connect_timeout = 1'000ms;
    clear(out, 1);
    bring_near(out);
    for (node_plan& n : out.nodes) {
        n.clock_offset = dice.between(-200ms, 200ms);
        n.latency = dice.between(20ms, 50ms);
    }
    for (int i = 0; i < 2; ++i) add_program(out, dice).longest_think = 100ms;
    out.programs.front().longest_ttl = milliseconds(dice.between(3'000, 8'000));
    out.programs.front().keeps = 1;
    out.programs.back().longest_ttl = 500ms;
    out.programs.back().is_rival = true;
    duration at = 2 * duration(out.connect_timeout) + 1s;
    for (std::int64_t left = dice.between(10, 40); left > 0; --left) {
        const duration lasts = dice.between(300ms, 3s);
        out.faults.push_back(
            {.kind = fault_kind::pause, .at = at, .lasts = lasts, .programs = 1U << 0});
        at += lasts;
        out.faults.push_back({.kind = fault_kind::kill,
                              .at = at + dice.between_orders(1us, 100ms),
                              .lasts = dice.between(200ms, 3s),
                              .programs = 1U << 0});
        at += dice.between(3s, 15s);
    }
    out.length = at;
}

}  // namespace redlock::simulation

// Draws worlds with an operator.
// SPDX-License-Identifier: MIT
#include "simulation/rare_worlds.hpp"

#include "simulation/visits.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::simulation {

namespace {

using namespace std::chrono_literals;

// One program alone, whose nodes answer at once.
void draw_one_program(plan& out, chance& dice) {
    out.ttl_max = milliseconds(dice.between(5'000, 20'000));
    clear(out, 1);
    bring_near(out, duration(out.node_timeout) / 16, 500ms);
    out.programs.push_back({.longest_ttl = 2'000ms, .longest_think = 500ms});
}

}  // namespace

void draw_wrong_fences(plan& out, chance& dice) {
    draw_one_program(out, dice);
    out.length = 20s;
    out.open_from = 0ms;
    const duration longest = 2 * duration(out.connect_timeout) + 6 * out.longest_node_timeout();
    if (dice.happens(0.5)) {
        out.programs.front().hands_over = 0.5;
        const std::uint32_t who = add_brief_program(out, dice, errand::token);
        out.programs.back().changes_tokens = true;
        return add_visits(out, dice, who, 1s, longest);
    }
    out.faults.push_back({.kind = fault_kind::write_fence,
                          .at = dice.between(1s, 5s),
                          .lasts = out.length,
                          .nodes = 1U << dice.below(out.nodes.size())});
    add_visits(out, dice, add_brief_program(out, dice, errand::revoke), 2s, longest);
}

void draw_first_tries(plan& out, chance& dice) {
    draw_one_program(out, dice);
    out.programs.front().is_rival = true;
    const auto all = static_cast<std::uint32_t>((1U << out.nodes.size()) - 1);
    const duration begun = 2 * duration(out.connect_timeout) + 100ms;
    const duration stops = begun + dice.between_orders(1ms, 8s);
    duration at = stops;
    if (dice.happens(0.6)) {
        for (std::size_t i = 0; i < out.nodes.size(); ++i) {
            if (!dice.happens(0.5)) continue;
            out.faults.push_back({.kind = fault_kind::crash_lose,
                                  .at = at + dice.between(1ms, 100ms),
                                  .lasts = dice.between(1ms, 100ms),
                                  .nodes = 1U << i});
        }
        at += 250ms;
        out.faults.push_back({.kind = fault_kind::declare,
                              .at = at,
                              .nodes = all,
                              .programs = add_brief_program(out, dice, errand::init)});
        at += begun;
    }
    out.open_from = at;
    const std::uint32_t hung = 1U << dice.below(out.nodes.size());
    out.length = at + 3s;
    out.faults.push_back({.kind = fault_kind::freeze,
                          .at = at + dice.between(1ms, 500ms),
                          .lasts = 2s,
                          .nodes = hung});
    out.faults.push_back({.kind = fault_kind::kill,
                          .at = stops,
                          .lasts = at + dice.between(500ms, 1s) - stops,
                          .programs = 1U});
}

}  // namespace redlock::simulation

// Draws worlds with programs that only look.
// SPDX-License-Identifier: MIT
#include "simulation/visits.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace redlock::simulation {

using namespace std::chrono_literals;

void draw_lookers(plan& out, chance& dice) {
    const duration begun = dice.happens(0.3) ? dice.between(200ms, 3s) : 0ms;
    for (program_plan& p : out.programs) p.begins += begun;
    std::vector<duration> empty;  // when a node is back without its data
    for (const fault& f : out.faults) {
        if (forgets(f.kind)) empty.push_back(f.at + f.lasts);
    }
    const auto all = static_cast<std::uint32_t>((1U << out.nodes.size()) - 1);
    for (const errand what : {errand::look, errand::watch}) {
        const std::uint32_t who = add_brief_program(out, dice, what);
        program_plan& p = out.programs.back();
        if (dice.happens(0.5)) p.list = static_cast<std::uint32_t>(1U + dice.below(all));
        if (dice.happens(0.3)) p.ttl_max = out.ttl_max * dice.between(2, 60);
        const duration longest = dice.between_orders(500ms, 10s);
        const auto come = [&](duration at) {
            out.faults.push_back(
                {.kind = fault_kind::visit, .at = at, .lasts = longest, .programs = who});
        };
        if (begun > 0ms) come(dice.between(0ms, 100ms));
        for (std::size_t i = 0; i < empty.size() && i < 20; ++i) {
            come(empty[i] + dice.between_orders(1us, 20ms));
        }
        add_visits(out, dice, who, dice.between_orders(500ms, 20s), longest);
    }
    // The first keeps the records meanwhile.
    for (std::size_t i = 1; i < out.programs.size(); ++i) {
        program_plan& p = out.programs[i];
        p.looks_first = !p.is_brief() && dice.happens(0.5);
    }
}

}  // namespace redlock::simulation

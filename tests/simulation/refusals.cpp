// Draws worlds in which a node refuses releases for a while.
// SPDX-License-Identifier: MIT
#include "simulation/rare_worlds.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::simulation {

namespace {

using namespace std::chrono_literals;

void draw_nodes(plan& out) {
    out.ttl_max = 40'000ms;
    bring_near(out);
}

// Each worker has some lock most of the time, and soon after that another: so releases meet a node
// that has the key.
void draw_programs(plan& out, chance& dice) {
    clear(out, 8);
    for (int i = 0; i < 2; ++i) {
        program_plan& p = add_program(out, dice);
        p.workers = 4;
        p.longest_ttl = milliseconds(dice.between(35'000, 40'000));
        p.longest_think = 2s;
    }
}

}  // namespace

void draw_refusals(plan& out, chance& dice) {
    draw_nodes(out);
    draw_programs(out, dice);
    const auto refuse = [&](fault_kind how, duration at, duration lasts) {
        out.faults.push_back(
            {.kind = how, .at = at, .lasts = lasts, .nodes = 1U << dice.below(out.nodes.size())});
    };
    duration at = out.aftermath(fault_kind::kill);
    for (std::int64_t left = dice.between(4, 8); left > 0; --left) {
        const duration lasts = dice.between(1s, 5s);
        refuse(fault_kind::loading, at, lasts);
        // What is left then shows before the next begins.
        at += lasts + out.aftermath(fault_kind::loading) + dice.between(5s, 15s);
    }
    // The last one ends with the work. A replica shows here only: until its vote counts again, keys
    // run out by themselves.
    const duration lasts = dice.between(1s, 6s);
    refuse(dice.pick(std::array{fault_kind::loading, fault_kind::read_only}), at, lasts + 1s);
    out.length = at + lasts;
}

}  // namespace redlock::simulation

// Draws worlds in which many programs meet new nodes at once.
// SPDX-License-Identifier: MIT
#include "simulation/rare_worlds.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace redlock::simulation {

using namespace std::chrono_literals;

// The nodes are so far away that a late program finds one node new and another not; and nothing
// befalls them.
void draw_newcomers(plan& out, chance& dice) {
    out.ttl_max = 30'000ms;
    bring_near(out);
    const duration farthest = std::min<duration>(out.longest_node_timeout() / 16, 15ms);
    for (node_plan& n : out.nodes) n.latency = dice.between_orders(100us, farthest);
    clear(out, 8);
    const duration within = dice.between(0ms, 30ms);
    for (std::int64_t left = dice.between(5, 16); left > 0; --left) {
        program_plan& p = add_program(out, dice, dice.between(duration(0), within));
        p.longest_ttl = 2'000ms;
        p.longest_think = dice.between(100ms, 1s);
    }
    out.length = out.aftermath(fault_kind::cut) + 3s;
}

}  // namespace redlock::simulation

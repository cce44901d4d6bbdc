// Draws worlds in which all programs try for one lock at the same instants.
// SPDX-License-Identifier: MIT
#include "simulation/families.hpp"

#include <array>
#include <chrono>
#include <cstddef>

namespace redlock::simulation {

using namespace std::chrono_literals;

// The nodes are at different distances from each other, and each message takes up to twice as long
// as another: so each program is the first at some node. In half of the worlds a node is dead.
plan draw_bursts(std::uint64_t seed) {
    chance dice(seed, stream::bursts);
    plan out;
    out.seed = seed;
    out.ttl_max = 10'000ms;
    out.node_timeout = 250ms;
    out.connect_timeout = 500ms;
    out.between_bursts = 1s;
    const duration near = dice.between_orders(50us, 5ms);
    const std::size_t size =
        or_fewer(static_cast<std::size_t>(dice.pick(std::array{3, 3, 5})), seed);
    for (std::size_t i = 0; i < size; ++i) {
        out.nodes.push_back({.is_durable = true, .latency = near * dice.between(100, 120) / 100});
    }
    const bool is_fenced = dice.happens(0.7);
    for (std::int64_t left = dice.between(2, 12); left > 0; --left) {
        program_plan& p = out.programs.emplace_back();
        p.longest_ttl = 5'000ms;
        p.is_fenced = is_fenced;
    }
    out.length = out.aftermath(fault_kind::cut) + 30 * out.between_bursts;
    if (dice.happens(0.5) && size > 2) {
        out.faults.push_back({.kind = fault_kind::crash_keep,
                              .at = out.aftermath(fault_kind::cut),
                              .lasts = out.length,
                              .nodes = 1U << dice.below(size)});
    }
    return out;
}

}  // namespace redlock::simulation

// What worlds have in common in which two quorums share one node: what each sees; draws nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/plan.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace redlock::simulation::two_quorums {

// The nodes by their numbers, as bits.
inline constexpr std::uint32_t node_of_keeper = 1U << 0;
inline constexpr std::uint32_t node_of_both = 1U << 1;
inline constexpr std::uint32_t node_of_rival = 1U << 2;

// The programs likewise.
inline constexpr std::uint32_t the_keeper = 1U << 0;
inline constexpr std::uint32_t the_rival = 1U << 1;
inline constexpr std::uint32_t the_helper = 1U << 2;  // of whom the nodes have their records

/// Until the end.
inline void cut_off(plan& out, std::uint32_t program, duration at, std::uint32_t nodes) {
    out.faults.push_back({.kind = fault_kind::partition,
                          .at = at,
                          .lasts = out.length,
                          .nodes = nodes,
                          .programs = program});
}

/// Three nodes, and nobody there yet.
inline void clear(plan& out, chance& dice) {
    out.tail = 0;
    out.resources = 1;
    out.foreigners.clear();
    out.faults.clear();
    out.programs.clear();
    out.nodes.resize(3, out.nodes.front());
    for (node_plan& n : out.nodes) {
        n.is_durable = false;
        n.clock_offset = dice.between(milliseconds(-100), milliseconds(100));
        n.drift_ppm = 0;  // no record suits two programs that see other clocks
        n.latency = std::min<duration>(n.latency, duration(out.node_timeout) / 10);
    }
}

/// A program whose leases are long.
inline program_plan& add_program(plan& out, chance& dice, duration begins, milliseconds ttl_max) {
    program_plan& p = out.programs.emplace_back();
    p.begins = begins;
    p.drift_ppm = dice.between(-4'900, 4'900);
    p.longest_think = milliseconds(50);
    p.ttl_max = ttl_max;
    p.longest_ttl = ttl_max * dice.between(50, 90) / 100;
    return p;
}

}  // namespace redlock::simulation::two_quorums

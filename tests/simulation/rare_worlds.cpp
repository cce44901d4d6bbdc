// How worlds begin that take the place of a usual one.
// SPDX-License-Identifier: MIT
#include "simulation/rare_worlds.hpp"

#include <algorithm>

namespace redlock::simulation {

void clear(plan& out, std::size_t resources) {
    out.tail = 0;
    out.resources = resources;
    out.foreigners.clear();
    out.faults.clear();
    out.programs.clear();
}

void bring_near(plan& out, duration farthest, duration apart) {
    if (out.nodes.size() < 3) out.nodes.resize(3, out.nodes.front());
    for (node_plan& n : out.nodes) {
        n.clock_offset = std::clamp(n.clock_offset, -apart, apart);
        n.latency = std::min(n.latency, farthest);
    }
}

void set_last_ahead(plan& out, duration by, duration farthest) {
    out.nodes.resize(3, out.nodes.front());
    for (node_plan& n : out.nodes) {
        n.clock_offset = duration(0);
        n.drift_ppm = 0;  // no record suits two programs that see other clocks
        n.latency = std::min(n.latency, farthest);
    }
    out.nodes.back().clock_offset = by;
}

program_plan& add_program(plan& out, chance& dice, duration begins) {
    program_plan& p = out.programs.emplace_back();
    p.begins = begins;
    p.drift_ppm = dice.between(-4'900, 4'900);
    return p;
}

void cut_off(plan& out, std::uint32_t programs, duration at, std::uint32_t nodes) {
    out.faults.push_back({.kind = fault_kind::partition,
                          .at = at,
                          .lasts = out.length,
                          .nodes = nodes,
                          .programs = programs});
}

}  // namespace redlock::simulation

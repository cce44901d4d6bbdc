// Draws the processes of brief programs.
// SPDX-License-Identifier: MIT
#include "simulation/visits.hpp"

#include <algorithm>
#include <chrono>

namespace redlock::simulation {

using namespace std::chrono_literals;

std::uint32_t add_brief_program(plan& out, chance& dice, errand what) {
    program_plan& p = out.programs.emplace_back();
    const bool is_safe = out.within == bounds::safe;
    p.drift_ppm = is_safe ? dice.between(-4'900, 4'900) : dice.between(-30'000, 30'000);
    p.workers = 0;
    p.does = what;
    p.is_fenced = out.programs.front().is_fenced;
    return 1U << (out.programs.size() - 1);
}

void add_visits(plan& out, chance& dice, std::uint32_t program, duration pause, duration longest) {
    constexpr std::int64_t most = 100;  // the worlds of hours would have more
    pause = std::max<duration>(pause, out.length / most);
    for (duration at = dice.between(duration(1ms), 2 * pause); at < out.length;
         at += dice.between(duration(1ms), 2 * pause)) {
        out.faults.push_back(
            {.kind = fault_kind::visit, .at = at, .lasts = longest, .programs = program});
    }
}

}  // namespace redlock::simulation

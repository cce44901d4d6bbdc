// Draws worlds in which writers go on as readers.
// SPDX-License-Identifier: MIT
#include "simulation/downgrades.hpp"

#include <algorithm>
#include <array>

namespace redlock::simulation {

plan draw_downgrades(std::uint64_t seed) {
    plan out = draw(seed);
    const bool are_all_fenced = std::all_of(out.programs.begin(), out.programs.end(),
                                            [](const program_plan& p) { return p.is_fenced; });
    // Readers pass a writer that waits in no order, and a keeper keeps what it has alone.
    if (!are_all_fenced || out.about == style::rolling || out.most_turns != 0) return out;
    chance dice(seed, 40);
    if (out.about == style::slow && dice.happens(0.8)) return out;  // these take hours
    for (program_plan& p : out.programs) {
        if (p.is_brief()) continue;
        p.downgrades = dice.pick(std::array{0.2, 0.5, 0.9});
        p.reads = std::max(p.reads, dice.pick(std::array{0.0, 0.3, 0.6}));
    }
    return out;
}

}  // namespace redlock::simulation

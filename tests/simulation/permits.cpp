// Draws worlds in which leases have several slots, and worlds with a rate limit.
// SPDX-License-Identifier: MIT
#include "simulation/families.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace redlock::simulation {

namespace {

using namespace std::chrono_literals;

bool does_what_programs_do(const program_plan& p) {
    return !p.is_brief() && !p.is_candidate && !p.is_keeper && !p.is_rival;
}

// Waiters for several let nobody pass, and a keeper keeps what it has alone.
bool has_place(const plan& in, chance& dice) {
    const bool are_all_fenced = std::all_of(in.programs.begin(), in.programs.end(),
                                            [](const program_plan& p) { return p.is_fenced; });
    if (!are_all_fenced) return false;
    if (in.about == style::rolling || in.most_turns != 0) return false;
    return in.about != style::slow || dice.happens(0.2);  // these take hours
}

}  // namespace

plan draw_permits(std::uint64_t seed) {
    plan out = draw(seed);
    chance dice(seed, stream::permits);
    if (!has_place(out, dice)) return out;
    out.slots = static_cast<std::uint16_t>(dice.pick(std::array{2, 3, 5, 9}));
    for (program_plan& p : out.programs) {
        p.slots = out.slots;  // where one named fewer, a wish for more waits until it is gone
        if (!does_what_programs_do(p)) continue;
        p.takes_slots = dice.pick(std::array{0.5, 0.9, 1.0});
        p.takes_permits = dice.pick(std::array{0.3, 0.7, 1.0});
    }
    return out;
}

plan draw_limits(std::uint64_t seed) {
    plan out = draw(seed);
    chance dice(seed, stream::limits);
    if (!has_place(out, dice) || out.has_ttl_maxes()) return out;
    out.limit = static_cast<std::uint16_t>(dice.pick(std::array{1, 2, 3, 9}));
    const duration longest = std::min<duration>(out.ttl_max / 2, 500ms);
    out.period = std::chrono::ceil<milliseconds>(dice.between_orders(longest / 20, longest));
    for (program_plan& p : out.programs) {
        if (does_what_programs_do(p)) p.calls = dice.pick(std::array{0.2, 0.6, 0.9});
    }
    return out;
}

}  // namespace redlock::simulation

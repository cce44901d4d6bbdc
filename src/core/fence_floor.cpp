// Above which time fences are drawn after the clocks of the nodes went back.
// SPDX-License-Identifier: MIT
#include "core/fence_floor.hpp"

#include <algorithm>
#include <cassert>

namespace redlock::core {

namespace {

using std::chrono::microseconds;

constexpr std::int64_t least_change_us = microseconds(std::chrono::minutes(1)).count();

std::int64_t whole_us(duration d) noexcept { return std::chrono::floor<microseconds>(d).count(); }

// So far above `highest_us` a fence may be drawn when node time is still below that.
duration unwritten_within(duration tolerance) noexcept {
    return std::min(longest_unwritten_highest, tolerance / 2);
}

// No fence lies so far above `highest_us`.
std::int64_t most_above_us(duration tolerance) noexcept {
    return whole_us(tolerance) + whole_us(longest_unwritten_highest);
}

}  // namespace

fence_floor joined(const fence_floor& a, const fence_floor& b) noexcept {
    if (a.lifts != b.lifts) return a.lifts > b.lifts ? a : b;
    return {a.lifts, std::max(a.highest_us, b.highest_us), std::max(a.lift_us, b.lift_us)};
}

fence_floor lifted_for(fence_floor known, std::int64_t node_time_us, duration tolerance) noexcept {
    assert(tolerance >= duration::zero() && known.lift_us >= 0);
    if (known.highest_us == 0) return known;
    const std::int64_t top_us = known.highest_us + most_above_us(tolerance);
    const std::int64_t lifted_us = node_time_us + known.lift_us;
    const bool went_back =
        lifted_us < known.highest_us - whole_us(tolerance - unwritten_within(tolerance));
    const bool is_too_long = known.lift_us > 0 && lifted_us - top_us >=
                                                      std::min(known.lift_us, least_change_us);
    if (!went_back && !is_too_long) return known;
    ++known.lifts;
    known.lift_us = std::max<std::int64_t>(top_us - node_time_us, 0);
    return known;
}

std::int64_t fences_until_us(const fence_floor& of, std::int64_t time_us,
                             duration tolerance) noexcept {
    const bool went_back = time_us < of.highest_us - whole_us(tolerance) / 16;
    return of.highest_us + (went_back ? whole_us(unwritten_within(tolerance)) : 0);
}

duration least_step_of(const fence_floor& of, duration tolerance) noexcept {
    return microseconds(std::max<std::int64_t>(of.lift_us - most_above_us(tolerance), 0));
}

}  // namespace redlock::core

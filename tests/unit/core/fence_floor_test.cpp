// Above which time fences are drawn after the clocks of the nodes went back.
// SPDX-License-Identifier: MIT
#include "core/fence_floor.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <initializer_list>

using namespace redlock;
using namespace std::chrono_literals;
using core::fence_floor;
using core::joined;
using core::lifted_for;

namespace {

constexpr std::int64_t noon = 1'700'000'000'000'000;
constexpr duration tolerance = 15s;

constexpr std::int64_t us(duration d) { return std::chrono::floor<std::chrono::microseconds>(d).count(); }

fence_floor at_noon(std::uint64_t lifts = 0, duration lift = 0s) { return {lifts, noon, us(lift)}; }

}  // namespace

TEST_CASE("of two records the one whose lift was changed more often counts") {
    const fence_floor older{1, 500, 90};
    const fence_floor later{2, 300, 0};
    CHECK(joined(older, later) == later);
    CHECK(joined(later, older) == later);
    CHECK(joined({}, older) == older);
    CHECK(joined({2, 300, 7}, {2, 500, 5}) == fence_floor{2, 500, 7});
}

TEST_CASE("without a time on record nothing is lifted") {
    CHECK(lifted_for({}, noon, tolerance) == fence_floor{});
    CHECK(lifted_for({.lifts = 3}, 5, tolerance) == fence_floor{.lifts = 3});
}

TEST_CASE("clocks that run on, or are back by less than fences may be ahead, need no lift") {
    for (const duration by : {-10s, -1s, 0s, 5s, 3600s, 24s * 3600}) {
        CHECK(lifted_for(at_noon(), noon + us(by), tolerance) == at_noon());
    }
}

TEST_CASE("where clocks went back by more, node time and the lift are above every fence so far") {
    const duration by = GENERATE(10'001ms, 16s, 120s, 3600s);
    const std::int64_t time_us = noon - us(by);
    const fence_floor lifted = lifted_for(at_noon(), time_us, tolerance);
    CHECK(lifted.lifts == 1);
    CHECK(lifted.highest_us == noon);
    // As far above as a fence can be that was drawn before the next one wrote the time.
    CHECK(time_us + lifted.lift_us == noon + us(tolerance + 5s));
    CHECK(core::least_step_of(lifted, tolerance) == by);
    // Every client that reads it leaves it, now and later.
    CHECK(lifted_for(lifted, time_us, tolerance) == lifted);
    CHECK(lifted_for(lifted, time_us + us(10s), tolerance) == lifted);
}

TEST_CASE("where the clocks went back by less, a fence is above what may have been drawn") {
    CHECK(core::fences_until_us(at_noon(), noon - us(10s), tolerance) == noon + us(5s));
    CHECK(core::fences_until_us(at_noon(), noon - us(1s), tolerance) == noon + us(5s));
    // Two clients read the clocks at different nodes.
    CHECK(core::fences_until_us(at_noon(), noon - us(900ms), tolerance) == noon);
    CHECK(core::fences_until_us(at_noon(), noon + us(1h), tolerance) == noon);
    // As far as the nodes take it.
    for (const duration a : std::initializer_list<duration>{500ms, 3s, 10s, 15s}) {
        const std::int64_t least_us = noon - us(a - std::min<duration>(a / 2, 5s));
        CHECK(lifted_for(at_noon(), least_us, a) == at_noon());
        CHECK(lifted_for(at_noon(), least_us - 1, a).lift_us > 0);
        CHECK(core::fences_until_us(at_noon(), least_us, a) <= least_us + us(a));
    }
}

TEST_CASE("a lift that two clients reckon a little differently is theirs both") {
    const fence_floor one = lifted_for(at_noon(), noon - us(60s), tolerance);
    const fence_floor other = lifted_for(at_noon(), noon - us(60s) + 700, tolerance);
    const fence_floor both = joined(one, other);
    CHECK(both == one);
    CHECK(lifted_for(both, noon - us(60s), tolerance) == both);
    CHECK(lifted_for(both, noon - us(60s) + 700, tolerance) == both);
}

TEST_CASE("clocks that go back again lift further") {
    const fence_floor once = lifted_for(at_noon(), noon - us(60s), tolerance);
    const std::int64_t time_us = noon - us(1h);
    const fence_floor twice = lifted_for(once, time_us, tolerance);
    CHECK(twice.lifts == 2);
    CHECK(time_us + twice.lift_us == noon + us(20s));
}

TEST_CASE("a lift goes as far as it can when the clocks are set right, or nobody was there") {
    fence_floor of = lifted_for(at_noon(), noon - us(1h), tolerance);
    of.highest_us = noon + us(40s);  // in use
    SECTION("by a step ahead") {
        const std::int64_t time_us = noon + us(22s);
        const fence_floor less = lifted_for(of, time_us, tolerance);
        CHECK(less.lifts == 2);
        CHECK(less.lift_us == us(38s));  // a fence may have been drawn at 12:01
    }
    SECTION("by a step that is as large as the lift, or larger") {
        const fence_floor none = lifted_for(of, noon + us(60s), tolerance);
        CHECK(none == fence_floor{2, of.highest_us, 0});
        CHECK(lifted_for(of, noon + us(2h), tolerance) == none);
    }
    SECTION("by a minute without a fence") {
        const std::int64_t least_us = noon + us(60s) - of.lift_us;
        CHECK(lifted_for(of, least_us + us(59s), tolerance) == of);
        const fence_floor less = lifted_for(of, least_us + us(60s), tolerance);
        CHECK(less.lift_us == of.lift_us - us(60s));
    }
}

TEST_CASE("a short lift ends when it is over as a whole") {
    fence_floor of = lifted_for(at_noon(), noon - us(16s), tolerance);
    CHECK(of.lift_us == us(36s));
    const std::int64_t least_us = noon + us(20s) - of.lift_us;
    CHECK(lifted_for(of, least_us + us(35s), tolerance) == of);
    CHECK(lifted_for(of, least_us + us(36s), tolerance).lift_us == 0);
}

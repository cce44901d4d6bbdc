// A lease that another process acquired: what it may have left, by its token and the clocks.
// SPDX-License-Identifier: MIT
#include "core/lock/adoption.hpp"

#include "tests/support/catch.hpp"

using namespace redlock;
using namespace std::chrono_literals;
using core::adopted_lease;

namespace {

constexpr time_point now = time_point(72h);
constexpr std::uint64_t drawn = 1'700'000'000'000'000;
constexpr std::int64_t drawn_us = 1'700'000'000'000'000;

core::traces left_of(const adopted_lease& what) {
    return core::traces_of_adopted(what, 3, node_mask::first(5), now);
}

}  // namespace

TEST_CASE("an adopted lease may have keys on every node, and is known elsewhere") {
    const auto left = left_of({.fence = drawn, .is_plausible = true});
    CHECK(left.born == 3);
    CHECK(left.nodes == node_mask::first(5));
    CHECK(left.began_elsewhere);
    CHECK(left.is_known_elsewhere);
    CHECK(left.highest_fence == drawn);
    CHECK(left.to_keep_at_most(now) == 0s);
}

TEST_CASE("a fence of a token that no client can have drawn is raised to by no release") {
    CHECK(left_of({.fence = drawn, .is_plausible = false}).highest_fence == 0);
}

TEST_CASE("what is over of a least time is known by the fence, to within twice the tolerance") {
    adopted_lease what{.fence = drawn,
                       .is_plausible = true,
                       .stay = 20s,
                       .node_time_us = drawn_us + 5'000'000,
                       .clock_tolerance = 2s};
    CHECK(left_of(what).to_keep(now) == 15s);
    CHECK(left_of(what).to_keep_at_most(now) == 19s);
    SECTION("a fence ahead of node time makes it no longer") {
        what.node_time_us = drawn_us - 5'000'000;
        CHECK(left_of(what).to_keep(now) == 20s);
    }
    SECTION("without node time or a fence all of it is left") {
        what.node_time_us.reset();
        CHECK(left_of(what).to_keep(now) == 20s);
        what.node_time_us = drawn_us + 5'000'000;
        what.fence = 0;
        CHECK(left_of(what).to_keep(now) == 20s);
    }
}

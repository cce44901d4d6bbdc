// The fences that one client draws: above all it knows, and never far from node time.
// SPDX-License-Identifier: MIT
#include "core/node/fence_source.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>

using namespace redlock;
using namespace std::chrono_literals;
using core::fence_limit;
using core::fence_source;

namespace {

constexpr std::int64_t noon = 1'700'000'000'000'000;
constexpr auto noon_fence = static_cast<std::uint64_t>(noon);

}  // namespace

TEST_CASE("a fence is node time where nothing higher is known") {
    fence_source s;
    CHECK(s.next(0, noon, 15s) == noon_fence);
    CHECK(s.next(noon_fence - 1, noon + 7, 15s) == noon_fence + 7);
}

TEST_CASE("a fence is above what was seen and above the last one") {
    fence_source s;
    CHECK(s.next(noon_fence, noon, 15s) == noon_fence + 1);
    CHECK(s.next(0, noon, 15s) == noon_fence + 2);
    CHECK(s.next(0, noon - 1'000'000, 15s) == noon_fence + 3);
    CHECK(s.next(noon_fence + 10, noon, 15s) == noon_fence + 11);
    CHECK(s.next(0, noon + 12, 15s) == noon_fence + 12);
}

TEST_CASE("a fence may lie so far ahead of node time as is tolerated and no further") {
    const std::uint64_t edge = noon_fence + 15'000'000;
    fence_source s;
    CHECK_FALSE(s.next(edge, noon, 15s).has_value());
    CHECK(s.next(edge - 1, noon, 15s) == edge);
    CHECK_FALSE(s.next(0, noon, 15s).has_value());
    CHECK(s.next(0, noon + 1, 15s) == edge + 1);
}

TEST_CASE("a rival's fence is followed half as far ahead of node time as is tolerated") {
    constexpr std::uint64_t second = 1'000'000;
    CHECK(fence_source().next(noon_fence + 10, noon, 15s, noon_fence + 250'010) ==
          noon_fence + 250'010);
    CHECK(fence_source().next(0, noon, 15s, noon_fence + second) == noon_fence + second);
    CHECK(fence_source().next(noon_fence + 10, noon, 15s, noon_fence + 3600 * second) ==
          noon_fence + 7'500'000);
    // The rival's own fence may lie beyond that.
    CHECK(fence_source().next(noon_fence + 9 * second, noon, 15s, noon_fence + 10 * second) ==
          noon_fence + 9'000'001);
    // Nobody is to be passed by it where node time is above it.
    CHECK(fence_source().next(noon_fence - 2 * second, noon, 15s, noon_fence - second) ==
          noon_fence);
}

TEST_CASE("a part of a microsecond is not tolerated") {
    fence_source s;
    CHECK_FALSE(s.next(noon_fence, noon, 999ns).has_value());
    CHECK(s.next(noon_fence, noon, 1us) == noon_fence + 1);
    CHECK_FALSE(fence_source().next(noon_fence, noon, 0ns).has_value());
    CHECK(fence_source().next(0, noon, 0ns) == noon_fence);
}

TEST_CASE("a chain of steps that has outrun the clock is refused until the clock has followed") {
    fence_source s;
    std::uint64_t last = 0;
    for (int i = 0; i <= 1000; ++i) {
        const auto fence = s.next(0, noon, 1ms);
        REQUIRE(fence.has_value());
        REQUIRE(*fence > last);
        last = *fence;
    }
    CHECK(last == noon_fence + 1000);
    for (int i = 0; i < 5; ++i) REQUIRE_FALSE(s.next(0, noon, 1ms).has_value());
    // What was refused has used up nothing.
    CHECK(s.next(0, noon + 1, 1ms) == last + 1);
    CHECK_FALSE(s.next(0, noon + 1, 1ms).has_value());
    CHECK(s.next(0, noon + 60'000'000, 1ms) == noon_fence + 60'000'000);
}

TEST_CASE("a high fence of one resource that is refused does not spoil the others") {
    fence_source s;
    CHECK_FALSE(s.next(noon_fence + 60'000'000, noon, 15s).has_value());
    CHECK(s.next(0, noon, 15s) == noon_fence);
}

TEST_CASE("no fence is drawn that Lua's numbers do not hold exactly") {
    const auto end = static_cast<std::int64_t>(fence_limit);
    fence_source s;
    CHECK(s.next(0, end - 1, 15s) == fence_limit - 1);
    CHECK_FALSE(s.next(0, end - 1, 15s).has_value());
    CHECK_FALSE(s.next(0, end, 15s).has_value());
    CHECK_FALSE(fence_source().next(fence_limit - 1, end - 1, 15s).has_value());
    for (const std::uint64_t seen :
         {fence_limit, std::uint64_t{1} << 63, std::numeric_limits<std::uint64_t>::max()}) {
        CHECK_FALSE(fence_source().next(seen, noon, 15s).has_value());
    }
}

TEST_CASE("before the nodes' time is known the fences begin at one") {
    fence_source s;
    CHECK(s.next(0, 0, 15s) == std::uint64_t{1});
    CHECK(s.next(0, -5, 15s) == std::uint64_t{2});
    CHECK_FALSE(s.next(noon_fence, 0, 15s).has_value());
}

TEST_CASE("the tolerance is a quarter of ttl_max, and at most 15 s") {
    STATIC_REQUIRE(core::fence_tolerance(60s) == 15s);
    STATIC_REQUIRE(core::fence_tolerance(60'001ms) == 15s);
    STATIC_REQUIRE(core::fence_tolerance(24h) == 15s);
    STATIC_REQUIRE(core::fence_tolerance(10ms) == 2500us);
}

TEST_CASE("whatever fences and times a client reads, its own fences rise within the tolerance") {
    std::mt19937_64 random(7);
    fence_source s;
    std::uint64_t last = 0;
    std::int64_t time = noon;
    int drawn = 0;
    for (int i = 0; i < 20'000; ++i) {
        time += static_cast<std::int64_t>(random() % 300) - 100;
        const auto now = static_cast<std::uint64_t>(time);
        const std::uint64_t seen = random() % 3 == 0 ? now - 1000 + random() % 4000 : 0;
        const auto fence = s.next(seen, time, 2ms);
        if (fence) {
            ++drawn;
            const bool good = *fence > last && *fence > seen && *fence >= now &&
                              *fence <= now + 2000;
            if (!good) REQUIRE(good);
            last = *fence;
        } else {
            const bool had_to = std::max(seen, last) + 1 > now + 2000;
            if (!had_to) REQUIRE(had_to);
        }
    }
    CHECK(drawn > 10'000);
}

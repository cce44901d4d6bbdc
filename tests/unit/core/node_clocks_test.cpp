// The nodes' clocks: what a reading proves about jumps and skew, and what it does not.
// SPDX-License-Identifier: MIT
#include "core/node_clocks.hpp"

#include "tests/support/catch.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>

using namespace redlock;
using namespace std::chrono_literals;
using core::clock_reading;
using core::node_clocks;
using std::chrono::microseconds;

namespace {

constexpr time_point start = time_point(72h);
constexpr std::int64_t start_us = 72LL * 3600 * 1'000'000;
constexpr std::int64_t noon = 1'700'000'000'000'000;

node_clocks three() { return node_clocks(node_lists(3), 15s, {}); }

// A node whose clock is `ahead` of a true one, read in the middle of the round trip.
clock_reading reading(duration at, duration ahead, duration trip = 1ms) {
    const auto time = std::chrono::floor<microseconds>(at + ahead).count() + noon;
    return {time, start + at - trip / 2, start + at + trip / 2};
}

}  // namespace

TEST_CASE("before the first reading there is no node time and nobody is skewed") {
    const node_clocks c = three();
    CHECK_FALSE(c.now_us(start).has_value());
    CHECK_FALSE(c.skew(0).has_value());
    CHECK_FALSE(c.is_skewed(0));
    CHECK_FALSE(c.is_in_doubt());
    CHECK(c.tolerance() == 15s);
}

TEST_CASE("node time is the median carried forward on our clock") {
    node_clocks c = three();
    c.read(0, reading(0s, 3s));
    CHECK(c.now_us(start) == noon + 3'000'000);
    c.read(1, reading(0s, 1s));
    CHECK(c.now_us(start) == noon + 2'000'000);
    c.read(2, reading(0s, -100s));
    CHECK(c.now_us(start) == noon + 1'000'000);
    CHECK(c.now_us(start + 1h) == noon + 3'601'000'000);
    CHECK(c.shared_us(start) == c.now_us(start));  // as long as cluster time is not known
    CHECK(c.skew(0) == duration(2s));
    CHECK(c.skew(1) == duration(0s));
    CHECK(c.skew(2) == duration(-101s));
    CHECK(c.is_skewed(2));
    CHECK_FALSE(c.is_skewed(0));
}

TEST_CASE("how far a clock is ahead at most errs to that side, by no more than the round trip") {
    node_clocks c = three();
    CHECK_FALSE(c.ahead_us(0).has_value());
    for (const auto ahead : {duration(3s), duration(-3s)}) {
        c.read(0, reading(0s, ahead, 100ms));
        const auto truly = noon - start_us + std::chrono::floor<microseconds>(ahead).count();
        CHECK(*c.ahead_us(0) >= truly);
        CHECK(*c.ahead_us(0) <= truly + 50'001);
    }
    CHECK_FALSE(c.ahead_us(1).has_value());
}

TEST_CASE("a clock is skewed where it is further from the median than is tolerated") {
    for (const int sign : {1, -1}) {
        node_clocks c = three();
        c.read(0, reading(0s, 0s));
        c.read(1, reading(0s, 0s));
        c.read(2, reading(0s, sign * 15s));
        CHECK_FALSE(c.is_skewed(2));
        c.set_tolerance(14'999'999us);
        CHECK(c.is_skewed(2));
        CHECK_FALSE(c.is_skewed(0));
        CHECK_FALSE(c.is_in_doubt());  // the other two agree
    }
}

TEST_CASE("of two nodes that disagree both are as far from node time") {
    node_clocks c(node_lists(2), 15s, {});
    c.read(0, reading(0s, 40s));
    c.read(1, reading(0s, 0s));
    CHECK(c.now_us(start) == noon + 20'000'000);
    CHECK(c.skew(0) == duration(20s));
    CHECK(c.skew(1) == duration(-20s));
    CHECK(c.is_skewed(0));
    CHECK(c.is_skewed(1));
    CHECK(c.is_in_doubt());
}

TEST_CASE("clocks that are on no record count alike, however often each was read") {
    node_clocks c(node_lists(5), 15s, {});
    const std::array ahead{-40s, 0s, 40s, 80s, 120s};
    for (std::size_t i = 0; i < 5; ++i) c.read(i, reading(0s, ahead[i]));
    for (std::size_t i = 0; i < 3; ++i) c.read(i, reading(1ms, ahead[i]));
    CHECK(c.is_in_doubt());
    CHECK(c.now_us(start) == noon + 40'000'000);
}

TEST_CASE("a node whose clock is behind ours has a negative offset like any other") {
    node_clocks c = three();
    const auto early = [](std::int64_t us) { return clock_reading{us, start, start + 1ms}; };
    c.read(0, early(0));
    c.read(1, early(1'000'001));
    c.read(2, early(2'000'000));
    const std::int64_t now = c.now_us(start).value();
    CHECK(now >= 999'000);
    CHECK(now <= 1'000'001);
    CHECK(c.skew(0).value() == -1'000'001us);
    CHECK(c.now_us(time_point(0s)).value() == now - start_us);
}

TEST_CASE("a clock that runs true does not jump whatever the round trips") {
    node_clocks c = three();
    CHECK(c.read(0, reading(0s, 5s)) == 0ns);
    CHECK(c.read(0, reading(5s, 5s, 2s)) == 0ns);
    CHECK(c.read(0, reading(10s, 5s)) == 0ns);
    CHECK(c.read(0, reading(2h, 5s, 1h)) == 0ns);
    CHECK(c.read(0, reading(3h, 5s)) == 0ns);
}

TEST_CASE("a jump is reported in its direction and once") {
    for (const int sign : {1, -1}) {
        node_clocks c = three();
        REQUIRE(c.read(0, reading(0s, 0s)) == 0ns);
        const duration jump = c.read(0, reading(1s, sign * 1s));
        // Less the round trips and the drift allowance of a second.
        CHECK(sign * jump > 980ms);
        CHECK(sign * jump < 1s);
        CHECK(c.read(0, reading(2s, sign * 1s)) == 0ns);
        CHECK(c.now_us(start + 2s) == noon + (2 + sign) * 1'000'000);
    }
}

TEST_CASE("a clock may drift by the allowance between two readings and no further") {
    // No round trip: what is left of the interval are the parts of a microsecond.
    const auto jumps = [](duration ahead) {
        node_clocks c = three();
        c.read(0, reading(0s, 0s, 0s));
        return c.read(0, reading(100s, ahead, 0s)) != 0ns;
    };
    CHECK_FALSE(jumps(1002ms));
    CHECK_FALSE(jumps(-1002ms));
    CHECK(jumps(1002ms + 5us));
    CHECK(jumps(-1002ms - 5us));
}

TEST_CASE("the nodes' jumps are their own") {
    node_clocks c = three();
    c.read(0, reading(0s, 0s));
    c.read(1, reading(0s, 100s));
    CHECK(c.read(0, reading(1s, 0s)) == 0ns);
    CHECK(c.read(1, reading(1s, 100s)) == 0ns);
    CHECK(c.read(2, reading(1s, -100s)) == 0ns);
}

TEST_CASE("the time that a reading took counts as time in which the clock may have drifted") {
    node_clocks c = three();
    // Read at the very beginning of a long trip, then at the very end of another, by a clock that
    // gains a hundredth all the while.
    c.read(0, {noon, start, start + 60s});
    const time_point end = start + 160s;
    CHECK(c.read(0, {noon + 161'600'000, start + 100s, end}) == 0ns);
}

TEST_CASE("a jump does not hide behind a reading that took long") {
    node_clocks c = three();
    REQUIRE(c.read(0, reading(0s, 0s)) == 0ns);
    REQUIRE(c.read(0, reading(10s, 3s, 10s)) == 0ns);  // this alone proves nothing
    const duration jump = c.read(0, reading(20s, 3s));
    CHECK(jump > 2500ms);
    CHECK(jump < 3s);
}

TEST_CASE("a reading that took minutes does not move node time") {
    node_clocks c = three();
    for (std::size_t i = 0; i < 3; ++i) c.read(i, reading(0s, 0s));
    // Answered at once, and read after a long sleep.
    for (std::size_t i = 0; i < 3; ++i) {
        c.read(i, {noon + 5'000'000, start + 5s, start + 5s + 10min});
        INFO("node " << i);
        CHECK_FALSE(c.is_skewed(i));
    }
    const std::int64_t off = c.now_us(start + 5s).value() - (noon + 5'000'000);
    // Within what ten minutes of drift may have made of it.
    CHECK(std::abs(off) <= 3'100'000);
}

TEST_CASE("clocks of chance that keep within the drift never jump and true jumps are seen") {
    for (std::uint32_t seed = 1; seed <= 500; ++seed) {
        std::mt19937_64 random(seed);
        const auto below = [&](std::int64_t n) {
            return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
        };
        node_clocks c(node_lists(1), 15s, {});
        std::int64_t now = 0;      // us on our clock since the start
        std::int64_t ahead = below(2'000'000) - 1'000'000;
        const auto pass = [&](std::int64_t us) {
            now += us;
            ahead += (below(2001) - 1000) * us / 100'000;
        };
        const auto read = [&](std::int64_t longest) {
            const time_point sent = start + microseconds(now);
            pass(below(longest));
            const std::int64_t time = noon + now + ahead;
            pass(below(longest));
            return c.read(0, {time, sent, start + microseconds(now)});
        };
        for (int i = 0; i < 50; ++i) {
            const duration jump = read(below(10) == 0 ? 20'000'000 : 3'000);
            INFO("seed " << seed << ", reading " << i);
            if (jump != 0ns) REQUIRE(jump == 0ns);
            pass(below(5'000'000));
        }
        read(1000);
        ahead += 1'000'000;
        REQUIRE(read(1000) > 0ns);
        ahead -= 1'000'000;
        REQUIRE(read(1000) < 0ns);
    }
}

TEST_CASE("correcting an even number of clocks one by one finds no step") {
    node_clocks c(node_lists(4), 15s, {});
    const auto at = [](std::size_t node, duration when) {
        constexpr std::int64_t ppm[] = {-4'900, -4'900, 2'551, 4'900};
        return reading(when, when * ppm[node] / 1'000'000);
    };
    for (std::size_t i = 0; i < 4; ++i) {
        c.read(i, at(i, 0s));
        c.set_recorded(i, core::recorded_offset{0, 1'000, noon});
    }
    for (duration now = 5s; now < 1min; now += 5s) {
        for (std::size_t i = 0; i < 4; ++i) c.read(i, at(i, now));
        for (std::size_t i = 0; i < 4; ++i) {
            const auto found = c.check(i, start + now + 1ms, false);
            c.set_recorded(i, core::recorded_offset{found->ahead_us, found->error_us,
                                              at(i, now).time_us});
            for (std::size_t j = 0; j < 4; ++j) {
                INFO(i << " was put right, and " << j << " is looked at");
                CHECK(c.check(j, start + now + 1ms, false)->moved_us == 0);
            }
        }
    }
}

TEST_CASE("of two clocks that differ by more than drift both count as stepped") {
    for (const int sign : {1, -1}) {
        node_clocks c = three();
        for (std::size_t i = 0; i < 2; ++i) {
            c.set_recorded(i, core::recorded_offset{0, 500, noon});
        }
        c.read(0, reading(1s, sign * 10s));
        c.read(1, reading(1s, 0s));
        CHECK(c.check(0, start + 1s, false)->moved_us * sign > 0);
        CHECK(c.check(1, start + 1s, false)->moved_us * sign < 0);
    }
}

TEST_CASE("of two clocks the one that ran true against ours is right") {
    for (const int sign : {1, -1}) {
        node_clocks c = three();
        for (std::size_t i = 0; i < 2; ++i) {
            c.read(i, reading(0s, 0s));
            c.set_recorded(i, core::recorded_offset{0, 500, noon});
        }
        c.read(0, reading(1s, sign * 10s));
        c.start_over(start + 1s);
        c.read(1, reading(2s, 0s));
        c.read(0, reading(2s, sign * 10s));
        const auto stepped = c.check(0, start + 2s, true);
        CHECK(stepped->moved_us * sign > 9'900'000);
        CHECK(std::abs(stepped->ahead_us - sign * 10'000'000) < 10'000);
        CHECK(c.check(1, start + 2s, true)->moved_us == 0);
    }
}

TEST_CASE("where both of two clocks jumped neither is known to be right") {
    node_clocks c = three();
    for (std::size_t i = 0; i < 2; ++i) {
        c.read(i, reading(0s, 0s));
        c.set_recorded(i, core::recorded_offset{0, 500, noon});
    }
    c.read(0, reading(1s, 10s));
    c.read(1, reading(1s, -5s));
    CHECK(c.check(0, start + 1s, true)->moved_us > 0);
    CHECK(c.check(1, start + 1s, true)->moved_us < 0);
}

TEST_CASE("before anything is on record all clocks count, however often each was read") {
    node_clocks c(node_lists(4), 15s, {});
    constexpr duration ahead[] = {162ms, -169ms, 145ms, 26ms};
    for (std::size_t i = 0; i < 4; ++i) c.read(i, reading(0s, ahead[i]));
    const auto before = c.check(0, start + 1ms, true);
    REQUIRE(before.has_value());
    // Those of two nodes are compared for a second time, after another client took their records back.
    for (std::size_t i = 0; i < 2; ++i) c.read(i, reading(10ms, ahead[i]));
    const auto after = c.check(0, start + 11ms, true);
    REQUIRE(after.has_value());
    CHECK(std::abs(after->ahead_us - before->ahead_us) < 1'000);
    CHECK(after->moved_us == 0);
}

TEST_CASE("a gap is as long as it was also where the nodes' clocks have drifted behind ours") {
    node_clocks c = three();
    const auto drift = [](duration since) { return -(since / 200); };
    for (std::size_t i = 0; i < 3; ++i) c.read(i, reading(0s, 0s));
    const duration gap = 300ms;
    for (std::size_t i = 0; i < 2; ++i) c.read(i, reading(10s, drift(10s) + gap));
    const duration found = c.take_gap();
    CHECK(found >= gap);
    CHECK(found <= gap + 2 * drift_policy{}.allowance(10s));
}

TEST_CASE("a node that was read later, and drifted the other way, did not jump when our clock did") {
    node_clocks c = three();
    const duration jump = GENERATE(300ms, -300ms);
    const duration drift = jump * 3 / 10;  // 90 ms in 10 s, within the allowance
    for (std::size_t i = 0; i < 3; ++i) c.read(i, reading(0s, 0s));
    for (std::size_t i = 0; i < 2; ++i) CHECK((c.read(i, reading(10s, jump - drift)) != 0s));
    CHECK((c.take_gap() > 0s) == (jump > 0s));
    CHECK((c.read(2, reading(10s, jump + drift)) == 0s));
}

namespace {

// Of seven nodes: n0 to n2 are the old list, n2 to n6 the new one; those that join are ahead.
constexpr node_lists old_and_new(node_mask::first(3), node_mask::first(7) - node_mask::first(2));
constexpr std::array<duration, 7> apart{-1s, 0s, 2s, 5s, 6s, 7s, 8s};

node_clocks read_by_both_lists(duration now) {
    node_clocks c(old_and_new, 15s, {});
    for (std::size_t i = 0; i < apart.size(); ++i) {
        c.read(i, reading(now, apart[i]));
        if (i < 3) {
            const auto ahead = std::chrono::floor<microseconds>(apart[i]).count();
            c.set_recorded(i, core::recorded_offset{ahead, 1'000, noon});
        }
    }
    return c;
}

}  // namespace

TEST_CASE("while the list changes cluster time is the one of the old list") {
    const node_clocks c = read_by_both_lists(1s);
    CHECK(std::abs(*c.cluster_us(start + 1s) - (noon + 1'000'000)) < 2'000);
    for (std::size_t i = 0; i < apart.size(); ++i) {
        const auto found = c.check(i, start + 1s, true);
        REQUIRE(found);
        CHECK(found->moved_us == 0);
        CHECK(std::abs(found->ahead_us - std::chrono::floor<microseconds>(apart[i]).count()) < 2'000);
    }
}

TEST_CASE("after a change of the list cluster time goes on, and no node of the new list has stepped") {
    const node_clocks before = read_by_both_lists(1s);
    node_clocks after(node_lists(5), 15s, {});  // n2 to n6
    for (std::size_t i = 0; i < 5; ++i) {
        const auto found = before.check(i + 2, start + 1s, true);
        after.set_recorded(i, core::recorded_offset{found->ahead_us, found->error_us, found->time_us});
        after.read(i, reading(2s, apart[i + 2]));
    }
    CHECK(std::abs(*after.cluster_us(start + 2s) - *before.cluster_us(start + 2s)) < 5'000);
    for (std::size_t i = 0; i < 5; ++i) CHECK(after.check(i, start + 2s, true)->moved_us == 0);
}

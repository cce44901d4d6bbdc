// For how long a limiter takes slots, and which grants count: no window holds more than the limit.
// SPDX-License-Identifier: MIT
#include "core/load/pacing.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/windows.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <random>
#include <vector>

using namespace redlock;
using namespace redlock::testing;
using namespace std::chrono_literals;
using core::pacing;
using std::chrono::milliseconds;

namespace {

constexpr drift_policy usual_drift{};
constexpr milliseconds most_ttl = 60s;

duration validity_of(milliseconds ttl) { return ttl - usual_drift.allowance(ttl); }

node_vote vote_of(vote answer, milliseconds retry_in = 0ms) {
    node_vote v;
    v.answer = answer;
    v.retry_in = retry_in;
    return v;
}

// Slots on a quorum that behaves as one node whose clock runs fast by what the drift allowance
// covers, and programs that want them all the time. Sending, granting and using are apart.
struct limiter_scene {
    std::mt19937 random{};
    int limit = 3;
    milliseconds period = 1s;
    duration longest_way = 10ms;

    duration way() {
        return duration(static_cast<duration::rep>(
            random() % static_cast<std::uint64_t>(longest_way.count() + 1)));
    }

    using rule = std::function<bool(milliseconds ttl, time_point valid_until, time_point now)>;

    // The instants that the rule lets count.
    std::vector<time_point> run(pacing& pace, const rule& counts) {
        std::vector<time_point> free_at(static_cast<std::size_t>(limit));
        std::vector<time_point> used;
        time_point now{1h};
        while (used.size() < 300) {
            const auto slot = std::min_element(free_at.begin(), free_at.end());
            const milliseconds ttl = pace.ttl();
            const time_point sent = std::max(now, *slot - way());
            const time_point granted = std::max(sent + way(), *slot);
            const time_point at = granted + way();
            now = sent;  // others go on meanwhile
            const double ns = static_cast<double>(duration(ttl).count());
            *slot = granted + duration(static_cast<duration::rep>(ns * (1 - usual_drift.factor)));
            if (counts(ttl, valid_until(sent, ttl, usual_drift), at)) {
                used.push_back(at);
            } else {
                *slot = at;  // given back
            }
        }
        return used;
    }
};

}  // namespace

TEST_CASE("a slot's ttl is long enough for a quick grant to count, and little longer") {
    for (const milliseconds period : {1ms, 10ms, 500ms, 1000ms, 20000ms, 58000ms}) {
        pacing pace(period, most_ttl, usual_drift);
        const auto ttl = pace.ttl();
        INFO(period.count() << " ms: " << ttl.count() << " ms");
        CHECK(validity_of(ttl) >= period + std::max<duration>(1ms, period / 100));
        CHECK(validity_of(ttl) <= period + std::max<duration>(1ms, period / 100) + 3ms);
        CHECK(ttl <= most_ttl);
    }
}

TEST_CASE("a grant counts if it is valid for a period from its use, to the nanosecond") {
    pacing pace(1s, most_ttl, usual_drift);
    const auto ttl = pace.ttl();
    const time_point sent{1h};
    const time_point until = valid_until(sent, ttl, usual_drift);
    CHECK(pace.counts(ttl, until, sent));
    CHECK(pace.counts(ttl, until, until - 1s));
    CHECK_FALSE(pace.counts(ttl, until, until - 1s + 1ns));
    CHECK_FALSE(pace.counts(ttl, until, until + 1s));
}

TEST_CASE("after a late grant the ttl of slots grows, and soon is what it was before") {
    pacing pace(1s, most_ttl, usual_drift);
    const auto usual = pace.ttl();
    const time_point sent{1h};
    CHECK_FALSE(pace.counts(usual, valid_until(sent, usual, usual_drift), sent + 80ms));
    const auto longer = pace.ttl();
    CHECK(pace.counts(longer, valid_until(sent, longer, usual_drift), sent + 80ms));
    CHECK(pace.counts(longer, valid_until(sent, longer, usual_drift), sent + 150ms));
    int grants = 0;
    for (; pace.ttl() > usual; ++grants) {
        const auto ttl = pace.ttl();
        REQUIRE(pace.counts(ttl, valid_until(sent, ttl, usual_drift), sent + 1ms));
    }
    CHECK(grants <= 8);
    pace.was_too_late(usual);
    CHECK(validity_of(pace.ttl()) >= 1s + 2 * usual);
}

TEST_CASE("the longest period leaves room for the drift and the way, and no ttl is too long") {
    for (const milliseconds longest : {20ms, 1000ms, 60000ms, 86400000ms}) {
        const auto period = pacing::longest_period(longest, usual_drift);
        INFO(longest.count() << " ms: " << period.count() << " ms");
        CHECK(period < longest);
        if (period <= 0ms) continue;
        pacing pace(period, longest, usual_drift);
        CHECK(pace.ttl() <= longest);
        CHECK(validity_of(pace.ttl()) > period);
        pace.was_too_late(longest);
        CHECK(pace.ttl() == longest);
        CHECK(validity_of(longest) >= period + std::max<duration>(5ms, longest / 50) - 1ms);
    }
    CHECK(pacing::longest_period(1ms, usual_drift) <= 0ms);
}

TEST_CASE("no window holds more than the limit, however long the answers take") {
    for (unsigned seed = 1; seed <= 40; ++seed) {
        limiter_scene s{.random = std::mt19937(seed),
                .limit = static_cast<int>(1 + seed % 5),
                .longest_way = seed % 2 == 0 ? 5ms : 60ms};
        pacing pace(s.period, most_ttl, usual_drift);
        const auto used = s.run(pace, [&](milliseconds ttl, time_point until, time_point now) {
            return pace.counts(ttl, until, now);
        });
        CAPTURE(seed);
        CHECK(most_in_a_window(used, s.period) <= static_cast<std::size_t>(s.limit));
    }
}

TEST_CASE("windows that are counted from the sending hold more than the limit") {
    // The rule that is not ours: the slot is taken for a period from the instant of its request.
    std::size_t found = 0;
    for (unsigned seed = 1; seed <= 40; ++seed) {
        limiter_scene s{.random = std::mt19937(seed), .longest_way = 60ms};
        pacing pace(s.period, most_ttl, usual_drift);
        const auto used = s.run(pace, [&](milliseconds ttl, time_point until, time_point now) {
            (void)pace.counts(ttl, until, now);
            const time_point sent = until - validity_of(ttl);
            return until - sent >= s.period;
        });
        found += most_in_a_window(used, s.period) > static_cast<std::size_t>(s.limit) ? 1 : 0;
    }
    CHECK(found > 0);
}

TEST_CASE("the time until a slot is free is the quorum-th smallest that the nodes name") {
    const auto held = [](milliseconds left) { return vote_of(vote::held, left); };
    const auto until_free = [](const std::vector<node_vote>& votes) {
        return core::time_until_free(votes, votes.size(), 25ms);
    };
    CHECK(until_free({held(300ms), held(100ms), held(200ms)}) == 200ms);
    CHECK(until_free({held(300ms), vote_of(vote::pending), held(200ms)}) == 300ms);
    CHECK(until_free({held(50ms), held(40ms), held(30ms), held(20ms), held(10ms)}) == 30ms);
    CHECK(until_free({vote_of(vote::granted), held(100ms), held(200ms)}) == 100ms);
    CHECK(until_free({vote_of(vote::stale), vote_of(vote::granted), held(200ms)}) == 1ms);
    CHECK(until_free({held(70ms), vote_of(vote::quarantine, 9s), vote_of(vote::unreachable)}) ==
          70ms);
    CHECK(until_free({}) == 1ms);
}

TEST_CASE("where others wait before the caller and no time is named, it waits for one turn") {
    const node_vote behind = vote_of(vote::queued);
    const auto until_free = [](const std::vector<node_vote>& votes) {
        return core::time_until_free(votes, votes.size(), 25ms);
    };
    CHECK(until_free({behind, behind, behind}) == 25ms);
    CHECK(until_free({behind, vote_of(vote::queued, 90ms), vote_of(vote::held, 80ms)}) == 80ms);
}

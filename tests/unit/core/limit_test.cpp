// A rate limiter: which call asks the nodes for a slot, when, for how long, and which grants
// count.
// SPDX-License-Identifier: MIT
#include "core/limit.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/windows.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

// Which calls of a rate limiter ask the nodes, and when: the machine stepped by hand.
namespace rate_limit_test {

using namespace redlock;
using namespace std::chrono_literals;
using core::rate_limit;
using std::chrono::milliseconds;
using verdict = rate_limit::verdict;
using start = rate_limit::start;

namespace {

constexpr time_point began{1h};

/// A caller, which notes what the machine reports to it.
struct caller final : core::limited {
    void on_turn(time_point) override { ++turns; }
    void on_rest(time_point until) override { rests_until = until; }

    int turns = 0;
    time_point rests_until{};
};

std::vector<node_vote> all_held(milliseconds left) {
    node_vote v;
    v.answer = vote::held;
    v.retry_in = left;
    return {3, v};
}

struct limiter_desk {
    explicit limiter_desk(std::uint16_t slots, milliseconds period = 1s)
        : of(slots, period, 60s, {}) {}

    /// A call that waits, and whose turn it is or is not.
    caller& wait(milliseconds limit, time_point now, std::uint16_t cost = 1) {
        caller& made = callers.emplace_back();
        REQUIRE(of.begin(made, cost, limit, now) == start::wait);
        of.admit(now);
        return made;
    }
    verdict allow(caller& c, time_point now) {
        const auto how = of.request(c, now);
        return of.granted(c, now + how.ttl - drift_policy{}.allowance(how.ttl), now);
    }
    /// The limit is reached for so long.
    verdict refuse(caller& c, milliseconds left, time_point now) {
        (void)of.request(c, now);
        return of.refused(c, errc::contended, all_held(left), node_lists(3), now);
    }

    std::deque<caller> callers;
    rate_limit of;
};

}  // namespace

TEST_CASE("a call that does not wait asks once, and learns when a slot will be free") {
    limiter_desk d(4, 1s);
    caller first;
    REQUIRE(d.of.begin(first, 1, 0ms, began) == start::ask);
    const auto how = d.of.request(first, began);
    CHECK(how.slots == 4);
    CHECK_FALSE(how.renew);
    CHECK(how.wait == 0ms);
    CHECK(how.ttl > 1s);
    CHECK(d.of.refused(first, errc::contended, all_held(300ms), node_lists(3), began) == verdict::over);
    CHECK(d.of.retry_after(first, began) == 300ms);
    CHECK(d.of.retry_after(first, began + 100ms) == 200ms);
    CHECK(d.of.retry_after(first, began + 300ms) == 250ms);  // a fourth of the period
    CHECK(first.turns == 0);
}

TEST_CASE("calls that wait ask at once while nothing was refused, as many as there are slots") {
    limiter_desk d(3);
    for (int i = 0; i < 5; ++i) (void)d.wait(1s, began);
    for (std::size_t i = 0; i < 5; ++i) CHECK(d.callers[i].turns == (i < 3 ? 1 : 0));
    CHECK(d.allow(d.callers[0], began) == verdict::allowed);
    d.of.admit(began);
    CHECK(d.callers[3].turns == 1);
    CHECK(d.callers[4].turns == 0);
}

TEST_CASE("where the nodes have free slots and none in common, calls ask less and less often") {
    limiter_desk d(10, 1s);
    caller& c = d.wait(1h, began);
    time_point now = began;
    for (const milliseconds rest : {1ms, 2ms, 4ms, 8ms, 16ms, 32ms, 64ms, 100ms, 100ms}) {
        CHECK(d.refuse(c, 0ms, now) == verdict::rest);
        d.of.admit(now);
        CHECK(c.rests_until == now + rest);
        now += rest;
        d.of.admit(now);
    }
    SECTION("until a time is named") {
        CHECK(d.refuse(c, 7ms, now) == verdict::rest);
        d.of.admit(now);
        CHECK(c.rests_until == now + 7ms);
        d.of.admit(now + 7ms);
        CHECK(d.refuse(c, 0ms, now + 7ms) == verdict::rest);
        d.of.admit(now + 7ms);
        CHECK(c.rests_until == now + 8ms);
    }
    SECTION("or one is allowed") {
        CHECK(d.allow(c, now) == verdict::allowed);
        caller& next = d.wait(1h, now);
        CHECK(d.refuse(next, 0ms, now) == verdict::rest);
        d.of.admit(now);
        CHECK(next.rests_until == now + 1ms);
    }
}

TEST_CASE("several that were on their way are one question") {
    limiter_desk d(10, 1s);
    for (int i = 0; i < 8; ++i) (void)d.wait(5s, began);
    for (std::size_t i = 0; i < 8; ++i) CHECK(d.refuse(d.callers[i], 0ms, began) == verdict::rest);
    d.of.admit(began);
    CHECK(d.callers[0].rests_until == began + 1ms);
}

TEST_CASE("after a refusal nobody in line asks before a slot is free, and then the first alone") {
    limiter_desk d(3);
    for (int i = 0; i < 3; ++i) (void)d.wait(5s, began);
    // Of three that ask at once none is allowed, and they answer in any order.
    for (const std::size_t i : {1U, 0U, 2U}) {
        CHECK(d.refuse(d.callers[i], 400ms, began) == verdict::rest);
        d.of.admit(began);
    }
    CHECK(d.callers[0].rests_until == began + 400ms);
    caller& late = d.wait(5s, began + 100ms);
    d.of.admit(began + 400ms - 1ns);
    for (const caller& c : d.callers) CHECK(c.turns <= 1);
    CHECK(late.turns == 0);
    d.of.admit(began + 400ms);
    CHECK(d.callers[0].turns == 2);
    CHECK(d.callers[1].turns == 1);
    // Each that is allowed lets one more ask.
    CHECK(d.allow(d.callers[0], began + 401ms) == verdict::allowed);
    d.of.admit(began + 401ms);
    CHECK(d.callers[1].turns == 2);
    CHECK(d.callers[2].turns == 2);
    CHECK(late.turns == 0);
    CHECK(d.allow(d.callers[2], began + 402ms) == verdict::allowed);
    CHECK(d.refuse(d.callers[1], 600ms, began + 402ms) == verdict::rest);
    d.of.admit(began + 402ms);
    CHECK(late.turns == 0);
    CHECK(d.callers[1].rests_until == began + 1002ms);  // it stands before the late one again
}

TEST_CASE("a refusal keeps back those that cost as much, and not those that cost less") {
    limiter_desk d(10, 1s);
    caller dear;
    REQUIRE(d.of.begin(dear, 5, 0ms, began) == start::ask);
    CHECK(d.refuse(dear, 700ms, began) == verdict::over);
    CHECK(d.of.retry_after(dear, began) == 700ms);
    caller& cheap = d.wait(5s, began);
    CHECK(cheap.turns == 1);
    CHECK(d.of.retry_after(cheap, began) == 100ms);
    CHECK(d.refuse(cheap, 300ms, began) == verdict::rest);
    // Behind it nobody passes, whatever it costs.
    caller& second = d.wait(5s, began, 5);
    d.of.admit(began + 299ms);
    CHECK((cheap.turns == 1 && second.turns == 0));
    d.of.admit(began + 300ms);
    CHECK((cheap.turns == 2 && second.turns == 0));
    CHECK(d.allow(cheap, began + 300ms) == verdict::allowed);
    d.of.admit(began + 300ms);
    CHECK(second.turns == 1);
}

TEST_CASE("a failure rests all alike, and not until as many slots are free as another wanted") {
    limiter_desk d(10, 1s);
    caller dear;
    REQUIRE(d.of.begin(dear, 5, 0ms, began) == start::ask);
    CHECK(d.refuse(dear, 700ms, began) == verdict::over);
    caller& cheap = d.wait(5s, began);
    (void)d.of.request(cheap, began);
    CHECK(d.of.refused(cheap, errc::no_quorum, {}, node_lists(3), began) == verdict::rest);
    d.of.admit(began);
    CHECK(cheap.rests_until == began + rate_limit::rest_of_failure);
}

TEST_CASE("the number that was set last counts, and a call that did not know it asks again") {
    limiter_desk d(10, 1s);
    caller& first = d.wait(5s, began);
    CHECK(d.of.terms().revision == 0);
    CHECK(d.of.request(first, began).slots == 10);
    d.of.learn({.revision = 7, .slots = 20}, began);
    CHECK(d.of.refused(first, errc::contended, all_held(300ms), node_lists(3), began) == verdict::again);
    CHECK(d.of.request(first, began).slots == 20);
    CHECK(d.of.terms().revision == 7);
    d.of.learn({.revision = 6, .slots = 5}, began);
    CHECK(d.of.refused(first, errc::contended, all_held(300ms), node_lists(3), began) == verdict::rest);
    CHECK(d.of.set(4, 5) == 8);  // later than all that it knows, whatever its clock says
    d.of.admit(began);
    CHECK(first.turns == 2);  // what the nodes said of free slots is out of date
    CHECK(d.of.request(first, began).slots == 4);
    CHECK_FALSE(d.of.why_no_cost(5).empty());
    CHECK(d.of.set(1'000, 1'000'000) == 1'000'000);
}

TEST_CASE("no call costs nothing, more than the limit, or more than one request takes") {
    CHECK(rate_limit(10, 1s, 60s, {}).why_no_cost(1).empty());
    CHECK(rate_limit(10, 1s, 60s, {}).why_no_cost(10).empty());
    CHECK(rate_limit(1000, 1s, 60s, {}).why_no_cost(64).empty());
    CHECK(rate_limit(10, 1s, 60s, {}).why_no_cost(0) ==
          "a cost of 0 can't be: it must be 1 to 10, the limit");
    CHECK(rate_limit(10, 1s, 60s, {}).why_no_cost(11) ==
          "a cost of 11 can't be: it must be 1 to 10, the limit");
    CHECK(rate_limit(1000, 1s, 60s, {}).why_no_cost(65) ==
          "a cost of 65 can't be: it must be 1 to 64, the most that one call takes; count in larger "
          "units");
}

TEST_CASE("a call that would not wait is refused while others do") {
    limiter_desk d(1);
    caller& first = d.wait(1s, began);
    caller hasty;
    CHECK(d.of.begin(hasty, 1, 0ms, began) == start::stand_aside);
    CHECK(d.refuse(first, 100ms, began) == verdict::rest);
    d.of.admit(began);
    CHECK(d.of.begin(hasty, 1, 0ms, began) == start::stand_aside);
    CHECK(d.of.retry_after(hasty, began) == 100ms);
    d.of.leave(first);
    CHECK(d.of.begin(hasty, 1, 0ms, began) == start::ask);
}

TEST_CASE("a call that waits ends at its deadline, not before and not much later") {
    limiter_desk d(1);
    caller& c = d.wait(200ms, began);
    CHECK(d.of.deadline(c) == began + 200ms);
    CHECK(d.refuse(c, 100ms, began) == verdict::rest);
    d.of.admit(began + 100ms);
    CHECK(d.refuse(c, 100ms, began + 200ms - 1ns) == verdict::rest);
    d.of.leave(c);
    caller& asks = d.wait(200ms, began + 1s);
    CHECK(d.refuse(asks, 100ms, began + 1200ms) == verdict::over);
}

TEST_CASE("a call that leaves makes room for the next, whether it waits or asks") {
    limiter_desk d(1);
    caller& asks = d.wait(1s, began);
    caller& waits = d.wait(1s, began);
    caller& next = d.wait(1s, began);
    d.of.leave(waits);
    d.of.leave(asks);
    d.of.admit(began);
    CHECK(waits.turns == 0);
    CHECK(next.turns == 1);
}

TEST_CASE("a call that waits rides out what may pass, and no other error") {
    limiter_desk d(1);
    caller& c = d.wait(1s, began);
    (void)d.of.request(c, began);
    CHECK(d.of.refused(c, errc::no_quorum, {}, node_lists(3), began + 50ms) == verdict::rest);
    d.of.admit(began + 50ms);
    CHECK(c.rests_until == began + 50ms + rate_limit::rest_of_failure);
    d.of.admit(c.rests_until);
    (void)d.of.request(c, began);
    CHECK(d.of.refused(c, errc::client_closed, {}, node_lists(3), began + 200ms) == verdict::over);
    caller hasty;
    REQUIRE(d.of.begin(hasty, 1, 0ms, began) == start::ask);
    (void)d.of.request(hasty, began);
    CHECK(d.of.refused(hasty, errc::no_quorum, {}, node_lists(3), began) == verdict::over);
}

TEST_CASE("a grant that comes too late is tried again with a longer ttl, a few times") {
    limiter_desk d(2);
    caller c;
    REQUIRE(d.of.begin(c, 1, 0ms, began) == start::ask);
    milliseconds last{0};
    for (unsigned i = 1; i <= rate_limit::most_tries; ++i) {
        const auto ttl = d.of.request(c, began).ttl;
        CHECK(ttl > last);
        last = ttl;
        const bool is_last = i == rate_limit::most_tries;
        const auto how = i % 2 == 0
                             ? d.of.refused(c, errc::validity_exhausted, {}, node_lists(3), began + ttl)
                             : d.of.granted(c, began + ttl - drift_policy{}.allowance(ttl),
                                            began + ttl - 500ms);
        CHECK(how == (is_last ? verdict::over : verdict::again));
    }
}

TEST_CASE("a call that waits rests where grants come too late again and again") {
    limiter_desk d(1);
    caller& c = d.wait(1h, began);
    const caller& next = d.wait(1h, began);
    for (unsigned i = 1; i <= rate_limit::most_tries; ++i) {
        (void)d.of.request(c, began);
        CHECK(d.of.granted(c, began + 500ms, began) ==  // half a period
              (i < rate_limit::most_tries ? verdict::again : verdict::rest));
    }
    d.of.admit(began);
    CHECK(c.turns == 1);
    CHECK(c.rests_until == began + rate_limit::rest_of_failure);
    d.of.admit(c.rests_until);
    CHECK(c.turns == 2);
    CHECK(next.turns == 0);
}

TEST_CASE("a longer period of another program counts for its length, and then its own again") {
    limiter_desk d(2);
    caller& c = d.wait(1h, began);
    CHECK(d.of.request(c, began).ttl < 2s);
    d.of.learn({.period = 10s}, began);
    d.of.learn({.period = 500ms}, began);  // a shorter one changes nothing
    CHECK(d.of.refused(c, errc::no_quorum, {}, node_lists(3), began) == verdict::again);
    const auto how = d.of.request(c, began);
    CHECK(how.ttl > 10s);
    // It may be used up by a call whose request was written when its own period counted again.
    caller& other = d.wait(1h, began);
    CHECK(d.of.request(other, began + 10s).ttl < 2s);
    const auto until = began + how.ttl - drift_policy{}.allowance(how.ttl);
    CHECK(d.of.granted(c, until, until - 10s + 1ns) == verdict::again);
    CHECK(d.of.terms().period == 1s);
}

TEST_CASE("a call ends by its cancellation though a longer period was named meanwhile") {
    limiter_desk d(2);
    caller& c = d.wait(1h, began);
    (void)d.of.request(c, began);
    d.of.learn({.period = 10s}, began);
    CHECK(d.of.refused(c, errc::client_closed, {}, node_lists(3), began) == verdict::over);
}

TEST_CASE("where many leave at once none of them gets a turn, and one that stays has the next") {
    limiter_desk d(1);
    for (int i = 0; i < 6; ++i) (void)d.wait(1s, began);
    for (std::size_t i = 0; i < 5; ++i) {
        d.of.leave(d.callers[i]);
        d.of.look_again(began);
    }
    for (std::size_t i = 1; i < 6; ++i) CHECK(d.callers[i].turns == 0);
    CHECK(d.callers[5].rests_until == began);
    d.of.admit(began);
    CHECK(d.callers[5].turns == 1);
}

TEST_CASE("what can't be a limit is named with its bounds") {
    client_options client;
    client.ttl_max = 10s;
    CHECK(core::why_no_limit(client, "r", 1, 9s).empty());
    CHECK(core::why_no_limit(client, "r", max_slots, 1ms).empty());
    const auto names = [&](const std::string& why, const std::string& part) {
        INFO(why);
        return why.find(part) != std::string::npos;
    };
    CHECK(names(core::why_no_limit(client, "r", 0, 1s), "1 to 1000"));
    CHECK(names(core::why_no_limit(client, "r", max_slots + 1, 1s), "a limit of 1001"));
    CHECK(names(core::why_no_limit(client, "r", 1, 0ms), "longer than 0"));
    CHECK(names(core::why_no_limit(client, "r", 1, 10s), "10000 ms is above 9698 ms"));
    CHECK_FALSE(core::why_no_limit(client, "", 1, 1s).empty());
    client.fencing = false;
    CHECK(names(core::why_no_limit(client, "r", 1, 1s), "fencing"));
}

}  // namespace rate_limit_test

// For how long a limiter takes slots, and which grants count: no window holds more than the limit.
namespace pacing_test {

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

    using rule = std::function<bool(pacing::terms asked, time_point valid_until, time_point now)>;

    // The instants that the rule lets count. One grant in twenty counts at the least, or the rule
    // is wrong.
    std::vector<time_point> run(pacing& pace, const rule& counts) {
        constexpr std::size_t enough = 300;
        constexpr std::size_t most_grants = 20 * enough;
        std::vector<time_point> free_at(static_cast<std::size_t>(limit));
        std::vector<time_point> used;
        time_point now{1h};
        for (std::size_t grants = 0; used.size() < enough; ++grants) {
            if (grants == most_grants) {
                FAIL("of " << grants << " grants " << used.size() << " counted, with a period of "
                           << period.count() << " ms and a ttl of "
                           << pace.next(period).ttl.count() << " ms at last");
            }
            const auto slot = std::min_element(free_at.begin(), free_at.end());
            const pacing::terms asked = pace.next(period);
            const milliseconds ttl = asked.ttl;
            const time_point sent = std::max(now, *slot - way());
            const time_point granted = std::max(sent + way(), *slot);
            const time_point at = granted + way();
            now = sent;  // others go on meanwhile
            const double ns = static_cast<double>(duration(ttl).count());
            *slot = granted + duration(static_cast<duration::rep>(ns * (1 - usual_drift.factor)));
            if (counts(asked, valid_until(sent, ttl, usual_drift), at)) {
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
        const auto ttl = pacing(most_ttl, usual_drift).next(period).ttl;
        INFO(period.count() << " ms: " << ttl.count() << " ms");
        CHECK(validity_of(ttl) >= period + std::max<duration>(1ms, period / 100));
        CHECK(validity_of(ttl) <= period + std::max<duration>(1ms, period / 100) + 3ms);
        CHECK(ttl <= most_ttl);
    }
}

TEST_CASE("a grant counts if it is valid for a period from its use, to the nanosecond") {
    pacing pace(most_ttl, usual_drift);
    const auto asked = pace.next(1s);
    const time_point sent{1h};
    const time_point until = valid_until(sent, asked.ttl, usual_drift);
    CHECK(pace.counts(asked, until, sent));
    CHECK(pace.counts(asked, until, until - 1s));
    CHECK_FALSE(pace.counts(asked, until, until - 1s + 1ns));
    CHECK_FALSE(pace.counts(asked, until, until + 1s));
}

TEST_CASE("after a late grant the ttl of slots grows, and soon is what it was before") {
    pacing pace(most_ttl, usual_drift);
    const auto usual = pace.next(1s);
    const time_point sent{1h};
    CHECK_FALSE(pace.counts(usual, valid_until(sent, usual.ttl, usual_drift), sent + 80ms));
    const auto longer = pace.next(1s);
    CHECK(pace.counts(longer, valid_until(sent, longer.ttl, usual_drift), sent + 80ms));
    CHECK(pace.counts(longer, valid_until(sent, longer.ttl, usual_drift), sent + 150ms));
    int grants = 0;
    for (; grants <= 8 && pace.next(1s).ttl > usual.ttl; ++grants) {
        const auto asked = pace.next(1s);
        REQUIRE(pace.counts(asked, valid_until(sent, asked.ttl, usual_drift), sent + 1ms));
    }
    CHECK(grants <= 8);
    pace.was_too_late(usual.ttl);
    CHECK(validity_of(pace.next(1s).ttl) >= 1s + 2 * usual.ttl);
}

TEST_CASE("the longest period leaves room for the drift and the way, and no ttl is too long") {
    for (const milliseconds longest : {20ms, 1000ms, 60000ms, 86400000ms}) {
        const auto period = longest_kept(longest, usual_drift);
        INFO(longest.count() << " ms: " << period.count() << " ms");
        CHECK(period < longest);
        if (period <= 0ms) continue;
        pacing pace(longest, usual_drift);
        CHECK(pace.next(period).ttl <= longest);
        CHECK(validity_of(pace.next(period).ttl) > period);
        pace.was_too_late(longest);
        CHECK(pace.next(period).ttl == longest);
        CHECK(validity_of(longest) >= period + std::max<duration>(5ms, longest / 50) - 1ms);
    }
    CHECK(longest_kept(1ms, usual_drift) <= 0ms);
}

TEST_CASE("no window holds more than the limit, however long the answers take") {
    for (unsigned seed = 1; seed <= 40; ++seed) {
        limiter_scene s{.random = std::mt19937(seed),
                .limit = static_cast<int>(1 + seed % 5),
                .longest_way = seed % 2 == 0 ? 5ms : 60ms};
        pacing pace(most_ttl, usual_drift);
        const auto used = s.run(pace, [&](pacing::terms asked, time_point until, time_point now) {
            return pace.counts(asked, until, now);
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
        pacing pace(most_ttl, usual_drift);
        const auto used = s.run(pace, [&](pacing::terms asked, time_point until, time_point now) {
            (void)pace.counts(asked, until, now);
            const time_point sent = until - validity_of(asked.ttl);
            return until - sent >= s.period;
        });
        found += most_in_a_window(used, s.period) > static_cast<std::size_t>(s.limit) ? 1 : 0;
    }
    CHECK(found > 0);
}

TEST_CASE("the time until a slot is free is the quorum-th smallest that the nodes name") {
    const auto held = [](milliseconds left) { return vote_of(vote::held, left); };
    const auto until_free = [](const std::vector<node_vote>& votes) {
        return core::time_until_free(votes, node_lists(votes.size()), 25ms);
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
        return core::time_until_free(votes, node_lists(votes.size()), 25ms);
    };
    CHECK(until_free({behind, behind, behind}) == 25ms);
    CHECK(until_free({behind, vote_of(vote::queued, 90ms), vote_of(vote::held, 80ms)}) == 80ms);
}

TEST_CASE("a longer period is news where without those that name it there is no quorum") {
    const node_lists three(3);
    const auto news = [&](std::initializer_list<std::pair<vote, milliseconds>> answers) {
        core::limit_votes all;
        std::size_t node = 0;
        for (const auto& [said, period] : answers) all.answered(node++, said, {.period = period});
        return all.news(three).period;
    };
    CHECK(news({{vote::granted, 0ms}, {vote::held, 0ms}, {vote::queued, 0ms}}) == 0ms);
    // One node may say anything: a day.
    CHECK(news({{vote::refused, 24h}, {vote::granted, 0ms}, {vote::granted, 0ms}}) == 0ms);
    CHECK(news({{vote::refused, 24h}, {vote::stale, 0ms}, {vote::held, 0ms}}) == 0ms);
    // But the one that is left besides a dead one decides.
    CHECK(news({{vote::refused, 10s}, {vote::unreachable, 0ms}, {vote::held, 0ms}}) == 10s);
    CHECK(news({{vote::refused, 24h}, {vote::refused, 10s}, {vote::granted, 0ms}}) == 10s);
    CHECK(news({{vote::timed_out, 0ms}, {vote::quarantine, 0ms}, {vote::refused, 0ms}}) == 0ms);
}

TEST_CASE("of the numbers that were set the nodes' latest is news, also of one node") {
    core::limit_votes all;
    all.answered(0, vote::held, {.revision = 7, .slots = 5});
    all.answered(1, vote::granted, {});
    all.answered(2, vote::held, {.revision = 9, .slots = 0});  // no number
    CHECK(all.news(node_lists(3)).revision == 7);
    all.answered(2, vote::held, {.revision = 9, .slots = 3});
    CHECK(all.news(node_lists(3)).slots == 3);
}

}  // namespace pacing_test

// One acquire from call to verdict: its tries, its rounds, its turns and its deadline.
// SPDX-License-Identifier: MIT
#include "core/lock/acquisition.hpp"

#include "tests/support/catch.hpp"

#include <random>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using core::acquisition;
using core::outlook;
using phase = acquisition::phase;
using step = acquisition::step;

namespace {

constexpr time_point start = time_point(72h);
constexpr duration longest = 50ms;

/// In line on three nodes, ttl 10 s; nobody of this client stands before it.
acquisition waiting(duration wait = 1s) {
    acquisition a;
    a.begin(3, 10s, {}, wait, start);
    a.settled(start, longest);
    return a;
}

/// Its first round is out.
acquisition trying(duration wait = 1s) {
    acquisition a = waiting(wait);
    REQUIRE(a.turn() == step::begin_try);
    a.begin_try(start);
    a.begin_round(start);
    return a;
}

/// Two nodes are held until `free_at`.
void hold(acquisition& a, time_point free_at, time_point now) {
    REQUIRE(a.cast(0, vote::held, {.free_at = free_at}, now) == step::none);
    REQUIRE(a.cast(1, vote::held, {.free_at = free_at}, now) == step::judge);
}

}  // namespace

TEST_CASE("a quorum of grants is a grant, and nothing counts after it") {
    acquisition a = trying();
    CHECK(a.is_open(1));
    CHECK(a.cast(0, vote::granted, {}, start + 1ms) == step::none);
    CHECK(a.cast(1, vote::granted, {}, start + 2ms) == step::grant);
    CHECK(a.valid_until() == start + 10s - 102ms);
    CHECK(a.state() == phase::judged);
    CHECK_FALSE(a.is_open(1));
    a.end();
    CHECK(a.is_over());
}

TEST_CASE("a first try is postponed by what this client's timers are late, and a later one is not") {
    acquisition a = trying(20ms);
    CHECK(a.due_at() == start + longest);
    CHECK_FALSE(a.postpone(start + longest, 0ms));
    CHECK(a.postpone(start + longest, 30ms));
    CHECK(a.due_at() == start + longest + 30ms);
    CHECK_FALSE(a.postpone(start + longest + 30ms, 30ms));
    CHECK(a.due(start + longest + 30ms, true) == step::give_up);
    SECTION("nor one whose caller waits for longer than the nodes may take") {
        acquisition b = trying(1s);
        CHECK_FALSE(b.postpone(start + 1s, 500ms));
    }
}

TEST_CASE("one that would not wait tries once") {
    acquisition a;
    a.begin(3, 10s, {}, 0s, start);
    CHECK_FALSE(a.waits());
    CHECK(a.turn() == step::begin_try);
    a.begin_try(start);
    CHECK(a.begin_round(start) == 1);
    hold(a, start + 5s, start + 1ms);
    CHECK(a.reason() == errc::contended);
    CHECK_FALSE(a.may_wait_on(start + 1ms));
    CHECK(a.refused(a.reason(), start + 1ms, {}) == step::give_up);
    CHECK(a.tries() == 1);
}

TEST_CASE("a second round is another round of the same try") {
    acquisition a = trying();
    a.saw(70);
    a.saw(30);
    CHECK(a.cast(0, vote::stale, {}, start + 1ms) == step::none);
    CHECK(a.cast(1, vote::granted, {}, start + 1ms) == step::second_round);
    CHECK(a.seen_fence() == 70);
    CHECK(a.begin_round(start + 2ms) == 2);
    CHECK_FALSE(a.is_open(1));
    CHECK(a.is_open(2));
    CHECK(a.tries() == 1);
    CHECK(a.cast(0, vote::granted, {}, start + 3ms) == step::none);
    CHECK(a.cast(2, vote::granted, {}, start + 3ms) == step::grant);
    CHECK(a.valid_until() == start + 2ms + 10s - 102ms);
}

TEST_CASE("a refused one sleeps until a quorum would be free, and asks for its turn") {
    acquisition a = trying();
    hold(a, start + 300ms, start + 1ms);
    REQUIRE(a.may_wait_on(start + 1ms));
    CHECK(a.refused(a.reason(), start + 1ms, acquisition::prospects{0, 0}) == step::sleep);
    CHECK(a.state() == phase::asleep);
    CHECK(a.due_at() == start + 300ms);
    CHECK(a.due(start + 300ms, true) == step::ask_for_turn);
    CHECK(a.due_at() == start + 1s);
    CHECK(a.turn() == step::begin_try);
    a.begin_try(start + 301ms);
    CHECK(a.begin_round(start + 301ms) == 2);
    CHECK(a.tries() == 2);
    CHECK(a.due_at() == start + 1s);
}

TEST_CASE("a wake-up of the nodes that held it brings its time forward") {
    acquisition a = trying();
    hold(a, start + 900ms, start + 1ms);
    a.refused(a.reason(), start + 1ms, acquisition::prospects{0, 0});
    CHECK(a.due_at() == start + 900ms);
    a.woken(0, start + 20ms);
    // The third was not heard of: it may be free.
    CHECK(a.due_at() == start + 20ms);
}

TEST_CASE("a wake-up during a try moves no timer") {
    acquisition a = trying();
    const auto before = a.due_at();
    a.woken(0, start + 1ms);
    CHECK(a.due_at() == before);
}

TEST_CASE("a turn that comes during a try is taken when that is refused") {
    acquisition a = trying();
    CHECK(a.turn() == step::none);
    hold(a, start + 300ms, start + 1ms);
    CHECK(a.refused(a.reason(), start + 1ms, acquisition::prospects{0, 0}) == step::begin_try);
    a.begin_try(start + 1ms);
    a.begin_round(start + 1ms);
    hold(a, start + 300ms, start + 2ms);
    CHECK(a.refused(a.reason(), start + 2ms, acquisition::prospects{0, 0}) == step::sleep);
}

TEST_CASE("the first try may take as long as a node, however short the wait") {
    acquisition a = trying(1ms);
    CHECK(a.due_at() == start + longest);
    CHECK(a.due(start + longest, true) == step::give_up);
    CHECK(a.reason() == errc::no_quorum);
    // But no other one follows.
    acquisition b = trying(1ms);
    hold(b, start + 2ms, start + 5ms);
    CHECK_FALSE(b.may_wait_on(start + 5ms));
    CHECK(b.refused(b.reason(), start + 5ms, {}) == step::give_up);
}

TEST_CASE("the time may be over before a first try") {
    acquisition first = waiting();
    CHECK(first.due_at() == start + 1s);
    CHECK(first.due(first.due_at(), true) == step::stand_aside);
    CHECK(first.reason() == errc::no_quorum);
    acquisition behind = waiting(10ms);
    behind.stands_behind();
    CHECK(behind.due_at() == start + 10ms);
    CHECK(behind.due(behind.due_at(), true) == step::stand_aside);
    CHECK(behind.reason() == errc::contended);
    acquisition away;
    away.begin(3, 10s, {}, 0s, start);
    CHECK(away.due(start + 100ms, false) == step::turn_away);
}

TEST_CASE("at the end of the wait it gives up for the reason of its last try") {
    acquisition a = trying();
    hold(a, start + 5s, start + 1ms);
    a.refused(a.reason(), start + 1ms, acquisition::prospects{0, 0});
    CHECK(a.due_at() == start + 990ms);  // once more before the end
    CHECK(a.due(start + 990ms, true) == step::ask_for_turn);
    CHECK(a.due(start + 1s, true) == step::give_up);
    CHECK(a.reason() == errc::contended);
}

TEST_CASE("one that reaches no quorum is not in others' way until a quorum answers") {
    acquisition a = trying(10s);
    CHECK(a.may_queue());
    CHECK(a.cast(0, vote::unreachable, {}, start + 1ms) == step::none);
    CHECK(a.cast(1, vote::unreachable, {}, start + 1ms) == step::judge);
    CHECK(a.reason() == errc::no_quorum);
    CHECK(a.refused(a.reason(), start + 1ms, acquisition::prospects{0, 0}) == step::sleep);
    CHECK_FALSE(a.may_queue());
    CHECK(a.is_resting());
    a.told(0, {.free_at = start + 5s}, true, start + 2ms);
    CHECK_FALSE(a.may_reach_quorum());
    a.told(1, {.free_at = start + 5s}, true, start + 2ms);
    CHECK(a.may_reach_quorum());
    a.told(1, {.free_at = start + 5s}, false, start + 3ms);
    CHECK_FALSE(a.may_reach_quorum());
    a.queue_again();
    CHECK(a.may_queue());
}

TEST_CASE("a gap of our own clock shortens what a grant will be worth") {
    acquisition a = trying();
    a.shorten(4s);
    a.cast(0, vote::granted, {}, start + 1ms);
    CHECK(a.cast(1, vote::granted, {}, start + 1ms) == step::grant);
    CHECK(a.valid_until() == start + 6s - 102ms);
    acquisition b = trying();
    b.shorten(10s);
    CHECK(b.cast(0, vote::granted, {}, start + 1ms) == step::judge);
    CHECK(b.reason() == errc::validity_exhausted);
    acquisition before;  // there is nothing yet to be shortened
    before.begin(3, 10s, {}, 1s, start);
    before.shorten(1s);
    CHECK(before.state() == phase::queued);
}

TEST_CASE("any order of facts: every try is judged once, and no timer lies beyond the deadline") {
    constexpr std::array votes{vote::granted,    vote::held,    vote::queued,    vote::stale,
                               vote::quarantine, vote::refused, vote::timed_out, vote::unreachable};
    std::mt19937_64 random(7);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    std::size_t grants = 0;
    std::size_t retries = 0;
    for (int i = 0; i < 5'000; ++i) {
        const std::size_t nodes = 1 + 2 * below(3);
        const duration wait = below(4) == 0 ? 0ms : std::chrono::milliseconds(1 + below(2'000));
        time_point now = start;
        acquisition a;
        a.begin(nodes, 5s, {}, wait, now);
        if (a.waits()) a.settled(now, longest);
        const time_point last = start + std::max<duration>(wait, longest);
        step next = a.turn();
        std::uint32_t rounds = 0;
        const auto judge = [&](error_code why) {
            CHECK(a.state() == phase::judged);
            CHECK_FALSE(a.is_open(a.round()));
            std::optional<acquisition::prospects> further;
            if (a.may_wait_on(now)) further = {random(), below(100)};
            const step after = a.refused(why, now, further);
            CHECK((after == step::give_up || further.has_value()));
            return after;
        };
        while (!a.is_over()) {
            now += std::chrono::microseconds(below(20'000));
            switch (next) {
                case step::begin_try: a.begin_try(now); [[fallthrough]];
                case step::second_round:
                    CHECK(a.begin_round(now) == ++rounds);
                    next = step::none;
                    break;
                case step::grant:
                    CHECK(now - 20ms < a.valid_until());
                    ++grants;
                    a.end();
                    break;
                case step::judge: next = judge(a.reason()); break;
                case step::give_up:
                    CHECK(a.reason());
                    a.end();
                    break;
                case step::ask_for_turn: next = a.turn(); break;
                case step::sleep: next = step::none; break;
                case step::stand_aside:
                case step::turn_away: FAIL("it has tried");
                case step::none:
                    if (a.waits()) CHECK(a.due_at() <= last);
                    if (a.waits() && now >= a.due_at()) {
                        next = a.due(now, true);
                    } else if (a.is_trying() && below(20) == 0) {
                        CHECK(a.turn() == step::none);
                    } else if (a.is_trying()) {
                        const outlook what{.free_at = now + std::chrono::milliseconds(below(500))};
                        next = a.cast(below(nodes), votes[below(votes.size())], what, now);
                    } else if (below(2) == 0) {
                        a.woken(below(nodes), now);
                    } else {
                        a.told(below(nodes), {.free_at = now}, below(2) == 0, now);
                    }
                    break;
            }
        }
        // A few steps of this loop. Without a wait the nodes end it: each has its time to answer.
        CHECK((a.waits() ? now <= last + 100ms : a.tries() == 1));
        retries += a.tries() - 1;
    }
    CHECK(grants > 500);
    CHECK(retries > 500);
}

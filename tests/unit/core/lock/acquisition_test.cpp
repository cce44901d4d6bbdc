// One acquire from call to verdict: its tries, its rounds, its turns and its deadline.
// SPDX-License-Identifier: MIT
#include "core/lock/acquisition.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <random>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using core::acquisition;
using core::outlook;
using phase = acquisition::phase;
using enum acquisition::action;
using actions = acquisition::actions;

namespace {

constexpr time_point start = time_point(72h);
constexpr duration longest = 50ms;
constexpr duration any_ttl = 60s;

const client_options& of_nodes(std::size_t count, bool fencing = true) {
    static std::deque<client_options> all;
    client_options o;
    o.nodes.resize(count);
    o.fencing = fencing;
    return all.emplace_back(std::move(o));
}

/// On three nodes.
acquisition begun(const acquire_options& how, std::size_t keys = 1) {
    acquisition a;
    a.begin(of_nodes(3), 3, how, keys, start);
    return a;
}

/// In line on three nodes, ttl 10 s; nobody of this client stands before it.
acquisition waiting(std::chrono::milliseconds wait = 1s) {
    acquisition a = begun({.ttl = 10s, .wait = wait});
    REQUIRE(a.settled(start, longest) == actions{join, arm});
    a.joined(true);
    return a;
}

void send(acquisition& a, time_point now) {
    a.begin_try(any_ttl, 0, now);
    a.begin_round({}, now);
}

/// Its first round is out.
acquisition trying(std::chrono::milliseconds wait = 1s) {
    acquisition a = waiting(wait);
    REQUIRE(a.turn() == actions{begin_try});
    send(a, start);
    return a;
}

actions cast(acquisition& a, std::size_t node, vote v, time_point now, const outlook& what = {}) {
    return a.cast(node, v, what, {}, now);
}

/// Two nodes are held until `free_at`.
void hold(acquisition& a, time_point free_at, time_point now) {
    REQUIRE(cast(a, 0, vote::held, now, {.free_at = free_at}) == actions{});
    REQUIRE(cast(a, 1, vote::held, now, {.free_at = free_at}) == actions{judge});
}

actions refused(acquisition& a, time_point now) {
    return a.refused(a.reason(), now, acquisition::prospects{0, 0});
}

bool has(const actions& all, acquisition::action one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

const actions given_up{leave, refuse};
const actions to_sleep{release, end_turn, await_wake_up, arm};

}  // namespace

TEST_CASE("a quorum of grants is a grant, and nothing counts after it") {
    acquisition a = trying();
    CHECK(a.is_open(1));
    CHECK(cast(a, 0, vote::granted, start + 1ms) == actions{});
    CHECK(cast(a, 1, vote::granted, start + 2ms) == actions{grant});
    CHECK(a.lease(start + 2ms).valid_until() == start + 10s - 102ms);
    CHECK(a.state() == phase::judged);
    CHECK_FALSE(a.is_open(1));
    a.end();
    CHECK(a.is_over());
}

TEST_CASE("a lease has the terms of its acquire, and no longer ttl than the nodes grant") {
    acquisition a = begun({.ttl = 10s, .renew = false, .max_hold = 5s, .loss_margin = 1s});
    a.begin_try(8s, 0, start);
    a.begin_round({}, start);
    CHECK(a.ttl() == 8s);
    cast(a, 0, vote::granted, start + 1ms);
    REQUIRE(cast(a, 1, vote::granted, start + 2ms) == actions{grant});
    const core::renewal lease = a.lease(start + 2ms);
    CHECK(lease.ttl() == 8s);
    CHECK(lease.granted_at() == start + 2ms);
    CHECK(lease.report_at() == start + 2ms + 4s);
}

TEST_CASE("a grant whose loss would have to be reported at once is none") {
    acquisition a = begun({.ttl = 10s, .loss_margin = 9s});
    send(a, start);
    cast(a, 0, vote::granted, start + 898ms);
    CHECK(cast(a, 1, vote::granted, start + 898ms) == actions{judge});
    CHECK(a.reason() == errc::validity_exhausted);
}

TEST_CASE("with a least time the nodes keep the key for it, as late as the grant may come") {
    acquisition a = begun({.ttl = 5s, .min_hold = 20s});
    a.begin_try(any_ttl, 0, start);
    CHECK(a.begin_round(100ms, start) == 1);
    CHECK(a.ttl() == 5s);
    CHECK(a.kept_for() == 20'303ms);  // (20 s + 100 ms) and their drift allowance
    cast(a, 0, vote::granted, start + 100ms);
    SECTION("one that comes in time is granted") {
        CHECK(cast(a, 1, vote::granted, start + 97ms) == actions{grant});
    }
    SECTION("one that comes later would not last, if its holder died at once") {
        CHECK(cast(a, 1, vote::granted, start + 99ms) == actions{judge});
        CHECK(a.reason() == errc::validity_exhausted);
    }
    SECTION("a gap of our own clock makes it later") {
        a.shorten(10ms);
        CHECK(cast(a, 1, vote::granted, start + 90ms) == actions{judge});
    }
}

TEST_CASE("a first try is postponed by what this client's timers are late, and a later one is not") {
    acquisition a = trying(20ms);
    CHECK(a.due_at() == start + longest);
    CHECK(a.due(start + longest, 30ms, true) == actions{arm});
    CHECK(a.due_at() == start + longest + 30ms);
    CHECK(a.due(start + longest + 30ms, 30ms, true) == actions{recall_votes, leave, refuse});
    acquisition b = trying(1s);  // for longer than the nodes may take
    CHECK(b.due(start + 1s, 500ms, true) == actions{recall_votes, leave, refuse});
}

TEST_CASE("one that would not wait tries once") {
    acquisition a = begun({});
    CHECK_FALSE(a.waits());
    CHECK(a.turn() == actions{begin_try});
    send(a, start);
    CHECK(a.round() == 1);
    hold(a, start + 5s, start + 1ms);
    CHECK(a.reason() == errc::contended);
    CHECK_FALSE(a.may_wait_on(a.reason(), start + 1ms));
    CHECK(a.refused(a.reason(), start + 1ms, {}) == given_up);
    CHECK(a.tries() == 1);
}

TEST_CASE("an acquire without a wait needs admission, and overtakes no waiter of this client") {
    acquisition a = begun({});
    CHECK(a.settled(start, longest) == actions{apply});
    SECTION("if no acquire waits it tries") { CHECK(a.admitted(false) == actions{begin_try}); }
    SECTION("if others wait it is refused") { CHECK(a.admitted(true) == actions{stand_aside}); }
    SECTION("one that was cancelled meanwhile does nothing") {
        a.end();
        CHECK(a.settled(start, longest) == actions{});
    }
}

TEST_CASE("a round that has not left yet is sent while it is open, or while its lease lives") {
    acquisition a = trying();
    CHECK(a.is_wanted(1, false));
    CHECK_FALSE(a.is_wanted(2, true));
    cast(a, 0, vote::granted, start + 1ms);
    REQUIRE(cast(a, 1, vote::granted, start + 2ms) == actions{grant});
    CHECK(a.is_wanted(1, true));
    CHECK_FALSE(a.is_wanted(1, false));  // released: it would take the key again
    CHECK_FALSE(a.is_wanted(0, true));
}

TEST_CASE("a round is answered when a quorum of nodes has answered it, and that counts once") {
    acquisition a = trying();
    CHECK_FALSE(a.completes_quorum(0));
    CHECK(a.completes_quorum(1));
    CHECK_FALSE(a.completes_quorum(2));
    a.begin_round({}, start + 1ms);
    CHECK_FALSE(a.completes_quorum(0));
    CHECK(a.completes_quorum(1));
}

TEST_CASE("a second round is another round of the same try") {
    acquisition a = trying();
    a.saw(70);
    a.saw(30);
    CHECK(cast(a, 0, vote::stale, start + 1ms) == actions{});
    CHECK(cast(a, 1, vote::granted, start + 1ms) == actions{second_round});
    CHECK(a.seen_fence() == 70);
    CHECK(a.begin_round({}, start + 2ms) == 2);
    CHECK_FALSE(a.is_open(1));
    CHECK(a.is_open(2));
    CHECK(a.tries() == 1);
    CHECK(cast(a, 0, vote::granted, start + 3ms) == actions{});
    CHECK(cast(a, 2, vote::granted, start + 3ms) == actions{grant});
    CHECK(a.lease(start + 3ms).valid_until() == start + 2ms + 10s - 102ms);
}

TEST_CASE("without fences no node wakes a waiter, and none has its ticket") {
    acquisition a;
    a.begin(of_nodes(3, false), 3, {.wait = 1s}, 1, start);
    a.settled(start, longest);
    send(a, start);
    a.draw_ticket(77);
    CHECK(a.ticket() == 0);
    CHECK_FALSE(a.may_be_entered());
    hold(a, start + 300ms, start + 1ms);
    CHECK(refused(a, start + 1ms) == actions{release, end_turn, arm});
}

TEST_CASE("a wake-up during a try moves no timer") {
    acquisition a = trying();
    const auto before = a.due_at();
    CHECK(a.woken(0, 0, {}, start + 1ms) == actions{});
    CHECK(a.due_at() == before);
}

TEST_CASE("a turn that comes during a try is taken when that is refused") {
    acquisition a = trying();
    CHECK(a.turn() == actions{});
    hold(a, start + 300ms, start + 1ms);
    CHECK(refused(a, start + 1ms) == actions{release, begin_try});
    send(a, start + 1ms);
    hold(a, start + 300ms, start + 2ms);
    CHECK(refused(a, start + 2ms) == to_sleep);
}

TEST_CASE("the first try may take as long as a node, however short the wait") {
    acquisition a = trying(1ms);
    CHECK(a.due_at() == start + longest);
    CHECK(a.due(start + longest, {}, true) == actions{recall_votes, leave, refuse});
    CHECK(a.reason() == errc::no_quorum);
    // But no other one follows.
    acquisition b = trying(1ms);
    hold(b, start + 2ms, start + 5ms);
    CHECK_FALSE(b.may_wait_on(b.reason(), start + 5ms));
    CHECK(b.refused(b.reason(), start + 5ms, {}) == given_up);
}

TEST_CASE("the time may be over before a first try") {
    acquisition first = waiting();
    CHECK(first.due_at() == start + 1s);
    CHECK(first.due(first.due_at(), {}, true) == actions{stand_aside});
    CHECK(first.reason() == errc::no_quorum);
    acquisition in_front = waiting();
    CHECK(in_front.due(in_front.due_at(), {}, false) == actions{turn_away});
    acquisition behind = waiting(10ms);
    behind.joined(false);
    CHECK(behind.due_at() == start + 10ms);
    CHECK(behind.due(behind.due_at(), {}, false) == actions{stand_aside});
    CHECK(behind.reason() == errc::contended);
    acquisition away = begun({});
    CHECK(away.due(start + 100ms, {}, false) == actions{turn_away});
}

TEST_CASE("at the end of the wait it gives up for the reason of its last try") {
    acquisition a = trying();
    hold(a, start + 5s, start + 1ms);
    refused(a, start + 1ms);
    CHECK(a.due_at() == start + 990ms);  // once more before the end
    CHECK(a.due(start + 990ms, {}, true) == actions{arm, ask_for_turn});
    CHECK(a.due(start + 1s, {}, true) == given_up);
    CHECK(a.reason() == errc::contended);
}

TEST_CASE("one that reaches no quorum is not in others' way until a quorum answers") {
    acquisition a = trying(10s);
    a.draw_ticket(77);
    CHECK(a.may_be_entered());
    CHECK(cast(a, 0, vote::unreachable, start + 1ms) == actions{});
    CHECK(cast(a, 1, vote::unreachable, start + 1ms) == actions{judge});
    CHECK(a.reason() == errc::no_quorum);
    // No resource has a quorum: the turn lasts.
    CHECK(refused(a, start + 1ms) == actions{leave, rest_in_turn, await_wake_up, arm});
    CHECK_FALSE(a.may_be_entered());
    a.answered(0, {.free_at = start + 5s}, true, start + 2ms);
    CHECK_FALSE(a.may_be_entered());
    CHECK(a.answered(1, {.free_at = start + 5s}, true, start + 2ms) == actions{end_turn, arm});
    CHECK(a.may_be_entered());
}

TEST_CASE("where a quorum answered, but would not grant, the turn ends with the rest") {
    acquisition a = trying(10s);
    cast(a, 0, vote::refused, start + 1ms);
    REQUIRE(cast(a, 1, vote::unreachable, start + 1ms) == actions{judge});
    CHECK(refused(a, start + 1ms) == actions{leave, rest, await_wake_up, arm});
}

TEST_CASE("a ticket is the cluster time of the first try, and drawn once") {
    acquisition a = trying(10s);
    a.draw_ticket({});
    a.draw_ticket(-5);
    CHECK(a.ticket() == 0);
    CHECK_FALSE(a.may_be_entered());
    hold(a, start + 300ms, start + 1ms);
    refused(a, start + 1ms);
    SECTION("it is drawn as soon as the time is known") {
        const actions next = a.answered(0, {.free_at = start + 5s}, true, start + 2ms);
        CHECK_FALSE(has(next, draw_ticket));  // not by one node
        CHECK(has(a.answered(1, {.free_at = start + 5s}, true, start + 2ms), draw_ticket));
    }
    a.draw_ticket(77);
    a.draw_ticket(99);
    CHECK(a.ticket() == 77);
    CHECK_FALSE(has(a.answered(1, {.free_at = start + 5s}, true, start + 2ms), draw_ticket));
}

TEST_CASE("one that would not wait draws no ticket") {
    acquisition a = begun({});
    send(a, start);
    a.draw_ticket(77);
    CHECK(a.ticket() == 0);
}

TEST_CASE("it knows on which nodes its place may be, and on which this round put it") {
    acquisition a = trying();
    a.sent(node_mask::only(0), 0, true);
    a.sent(node_mask::only(1), 0, false);
    CHECK(a.entered() == node_mask::only(0));
    CHECK(a.entered_now() == node_mask::only(0));
    hold(a, start + 1ms, start + 1ms);
    a.give_back(false);
    CHECK(a.entered() == node_mask::only(0));
    a.begin_round({}, start + 2ms);
    CHECK(a.entered_now().empty());
    a.entered(node_mask::only(2));
    CHECK(a.entered().size() == 2);
    CHECK(a.entered_now().empty());
    a.give_back(true);
    CHECK(a.entered().empty());
}

TEST_CASE("a try is released on all nodes that it was sent to, also on one that timed out") {
    acquisition a = waiting();
    a.turn();
    a.begin_try(any_ttl, 7, start);
    a.begin_round({}, start);
    a.sent(node_mask::first(2), 40, false);
    cast(a, 0, vote::timed_out, start + 1ms);
    cast(a, 1, vote::held, start + 1ms);
    const auto what = a.give_back(false);
    REQUIRE(what);
    CHECK(what->left.nodes == node_mask::first(2));
    CHECK(what->left.born == 7);
    CHECK(what->left.highest_fence == 40);
    CHECK_FALSE(a.give_back(false));
}

TEST_CASE("an acquire that ends leaves the queues of the nodes, also if it requested no key") {
    acquisition a = waiting();
    CHECK_FALSE(a.give_back(true));
    a.entered(node_mask::only(2));
    CHECK_FALSE(a.give_back(false));
    const auto what = a.give_back(true);
    REQUIRE(what);
    CHECK(what->left.nodes.empty());
    CHECK(what->entered == node_mask::only(2));
    CHECK_FALSE(a.give_back(true));
}

TEST_CASE("another slot that is free on a quorum is tried at once, and nothing else waits for it") {
    acquisition a = begun({.wait = 1s, .slots = 3});
    a.settled(start, longest);
    const auto draw = [&](std::optional<std::uint16_t> freed = {}) {
        return a.draw_slot(freed, [] { return std::uint64_t(0); });
    };
    a.begin_try(any_ttl, 0, start);
    const slot_number first = draw();
    CHECK(first.number == 0);
    CHECK(first.of == 3);
    a.begin_round({}, start);
    const std::string_view free = "\2";  // the second
    CHECK(a.cast(0, vote::held, {.free_at = start + 5s}, {free, 3}, start + 1ms) == actions{});
    CHECK(a.cast(1, vote::held, {.free_at = start + 5s}, {free, 3}, start + 1ms) == actions{judge});
    CHECK_FALSE(a.may_wait_on(a.reason(), start + 1ms));
    CHECK(a.refused(a.reason(), start + 1ms, {}) == actions{release, begin_try});
    a.begin_try(any_ttl, 0, start + 1ms);
    CHECK(draw().number == 1);
    a.begin_round({}, start + 1ms);
    SECTION("where none is free on a quorum it sleeps") {
        const std::string_view none("\0", 1);
        a.cast(0, vote::held, {.free_at = start + 5s}, {none, 3}, start + 2ms);
        a.cast(1, vote::held, {.free_at = start + 5s}, {none, 3}, start + 2ms);
        CHECK(has(refused(a, start + 2ms), end_turn));
        CHECK(a.woken(0, 0, 2, start + 3ms) == actions{arm});
        a.begin_try(any_ttl, 0, start + 3ms);
        CHECK(draw().number == 2);  // that the wake-up named
    }
    SECTION("where a quorum does not answer another slot would fare no better") {
        a.cast(0, vote::unreachable, {}, {}, start + 2ms);
        REQUIRE(a.cast(1, vote::unreachable, {}, {}, start + 2ms) == actions{judge});
        CHECK(a.may_wait_on(a.reason(), start + 2ms));
    }
}

TEST_CASE("one that wants several keys is woken where a node would let it have all of them") {
    acquisition a = begun({.wait = 1s}, 2);
    a.settled(start, longest);
    send(a, start);
    const outlook both{.free_at = start + 900ms, .blocked = 3};
    cast(a, 0, vote::held, start + 1ms, both);
    cast(a, 1, vote::held, start + 1ms, both);
    refused(a, start + 1ms);
    CHECK(a.due_at() == start + 900ms);
    CHECK(a.woken(0, 0, {}, start + 2ms) == actions{});
    CHECK(a.woken(0, 1, {}, start + 3ms) == actions{arm});
    CHECK(a.due_at() == start + 3ms);
    SECTION("an answer to a question sent before the wake-ups is older than these") {
        a.queried(node_mask::only(1));
        CHECK(a.woken(1, 0, {}, start + 4ms) == actions{});
        CHECK(a.woken(1, 1, {}, start + 4ms) == actions{arm});
        a.answered(1, both, true, start + 5ms);
        CHECK(a.due_at() <= start + 5ms);
    }
}

TEST_CASE("a gap of our own clock shortens what a grant will be worth") {
    acquisition a = trying();
    a.shorten(4s);
    cast(a, 0, vote::granted, start + 1ms);
    CHECK(cast(a, 1, vote::granted, start + 1ms) == actions{grant});
    CHECK(a.lease(start + 1ms).valid_until() == start + 6s - 102ms);
    acquisition b = trying();
    b.shorten(10s);
    CHECK(cast(b, 0, vote::granted, start + 1ms) == actions{judge});
    CHECK(b.reason() == errc::validity_exhausted);
    acquisition before = begun({.wait = 1s});  // there is nothing yet to be shortened
    before.shorten(1s);
    CHECK(before.state() == phase::queued);
}

TEST_CASE("any order of facts: every try is judged once, and no timer lies beyond the deadline") {
    constexpr std::array votes{vote::granted,    vote::held,    vote::queued,    vote::stale,
                               vote::quarantine, vote::refused, vote::timed_out, vote::unreachable};
    const std::array all{&of_nodes(1), &of_nodes(3), &of_nodes(5)};
    std::mt19937_64 random(7);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    std::size_t grants = 0;
    std::size_t retries = 0;
    for (int i = 0; i < 5'000; ++i) {
        const client_options& options = *all[below(3)];
        const std::size_t nodes = options.nodes.size();
        const auto wait = std::chrono::milliseconds(below(4) == 0 ? 0 : 1 + below(2'000));
        time_point now = start;
        acquisition a;
        a.begin(options, nodes, {.ttl = 5s, .wait = wait}, 1 + below(2), now);
        if (a.waits()) a.settled(now, longest);
        const time_point last = start + std::max<duration>(wait, longest);
        std::deque<acquisition::action> next;
        const auto follow = [&](const actions& what) { next.assign(what.begin(), what.end()); };
        follow(a.turn());
        std::uint32_t rounds = 0;
        const auto on_refusal = [&] {
            CHECK(a.state() == phase::judged);
            CHECK_FALSE(a.is_open(a.round()));
            std::optional<acquisition::prospects> further;
            if (a.may_wait_on(a.reason(), now)) further = {random(), below(100)};
            const actions after = a.refused(a.reason(), now, further);
            CHECK((has(after, refuse) || further.has_value()));
            CHECK((after.front() == release || after.front() == leave));
            follow(after);
        };
        while (!a.is_over()) {
            if (next.empty()) {
                now += std::chrono::microseconds(below(20'000));
                if (a.waits()) CHECK(a.due_at() <= last);
                if (a.waits() && now >= a.due_at()) {
                    follow(a.due(now, {}, true));
                } else if (a.is_trying() && below(20) == 0) {
                    CHECK(a.turn() == actions{});
                } else if (a.is_trying()) {
                    const outlook what{.free_at = now + std::chrono::milliseconds(below(500))};
                    follow(cast(a, below(nodes), votes[below(votes.size())], now, what));
                } else if (below(2) == 0) {
                    a.woken(below(nodes), 0, {}, now);
                } else {
                    a.answered(below(nodes), {.free_at = now}, below(2) == 0, now);
                }
                continue;
            }
            const auto one = next.front();
            next.pop_front();
            switch (one) {
                case begin_try: a.begin_try(any_ttl, 0, now); [[fallthrough]];
                case second_round: CHECK(a.begin_round({}, now) == ++rounds); break;
                case grant:
                    CHECK(a.lease(now).valid_until() > now - 20ms);
                    ++grants;
                    a.end();
                    break;
                case judge: on_refusal(); break;
                case refuse:
                    CHECK(a.reason());
                    a.end();
                    break;
                case ask_for_turn: follow(a.turn()); break;
                case stand_aside:
                case turn_away: FAIL("it has tried"); break;
                default: break;
            }
        }
        // A few steps of this loop. Without a wait the nodes end it: each has its time to answer.
        CHECK((a.waits() ? now <= last + 100ms : a.tries() == 1));
        retries += a.tries() - 1;
    }
    CHECK(grants > 500);
    CHECK(retries > 500);
}

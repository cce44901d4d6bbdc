// One acquire, from its call to its verdict: when to try, what to ask for, which votes win; sends
// nothing.
// SPDX-License-Identifier: MIT
#include "core/acquire.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/core/rounds.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

// One acquire from call to verdict: its tries, its rounds, its turns and its deadline.
namespace acquisition_test {

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
    a.begin(of_nodes(3), node_lists(3), how, keys, start);
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

actions cast(acquisition& a, std::size_t node, vote v, time_point now, outlook what = {}) {
    what.has_vote = core::weigh(v) != core::choice::unable;
    return a.cast(node, v, what, {}, now);
}

/// Two nodes are held until `free_at`.
void hold(acquisition& a, time_point free_at, time_point now) {
    REQUIRE(cast(a, 0, vote::held, now, {.free_at = free_at}) == actions{});
    REQUIRE(cast(a, 1, vote::held, now, {.free_at = free_at}) == actions{judge});
}

actions refused(acquisition& a, time_point now) {
    return a.refused(a.reason(), now, acquisition::prospects{0, 0, 1ms});
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
    CHECK_FALSE(a.may_try_later(a.reason(), start + 1ms));
    CHECK(a.refused(a.reason(), start + 1ms, {}) == given_up);
    CHECK(a.tries() == 1);
}

TEST_CASE("without a wait an acquire whose votes were split tries again, and its time is short") {
    acquisition a = begun({});
    a.settled(start, longest);
    REQUIRE(a.admitted(false) == actions{begin_try});
    send(a, start);
    CHECK_FALSE(a.is_timed());
    const outlook one{.free_at = start + 5s, .holder = 7};
    const outlook other{.free_at = start + 5s, .holder = 8};
    cast(a, 0, vote::granted, start + 1ms);
    cast(a, 1, vote::held, start + 1ms, one);
    REQUIRE(cast(a, 2, vote::held, start + 1ms, other) == actions{judge});
    REQUIRE(a.may_try_later(a.reason(), start + 1ms));
    CHECK(refused(a, start + 1ms) == actions{leave, arm});
    CHECK(a.due_at() == start + 1ms + 500us);
    a.give_back(true);
    CHECK(a.due(a.due_at(), {}, false) == actions{apply});
    SECTION("others of this client may have come before it meanwhile") {
        CHECK(a.admitted(true) == actions{stand_aside});
    }
    REQUIRE(a.admitted(false) == actions{begin_try});
    send(a, start + 2ms);
    CHECK(a.tries() == 2);
    CHECK(a.is_timed());
    CHECK(a.due_at() == start + 101ms);
    SECTION("it ends with the time for that, also during a try") {
        CHECK(a.due(start + 101ms, {}, false) == actions{recall_votes, leave, refuse});
        CHECK(a.reason() == errc::contended);
    }
    SECTION("it ends at once where a holder has a quorum by now") {
        cast(a, 1, vote::held, start + 3ms, one);
        REQUIRE(cast(a, 2, vote::held, start + 3ms, one) == actions{judge});
        CHECK_FALSE(a.may_try_later(a.reason(), start + 3ms));
        CHECK(a.refused(a.reason(), start + 3ms, {}) == given_up);
    }
    SECTION("it is granted as any other") {
        cast(a, 1, vote::granted, start + 3ms);
        CHECK(cast(a, 2, vote::granted, start + 3ms) == actions{grant});
        CHECK(a.lease(start + 3ms).valid_until() == start + 2ms + 10s - 102ms);
    }
}

TEST_CASE("a try that is lost goes on until it is known whether it has a vote itself") {
    acquisition a = begun({});
    a.begin_try(any_ttl, 0, start);
    a.begin_round({}, start);
    a.sent(node_mask::first(3), 0, false);
    const outlook held{.free_at = start + 5s, .holder = 7};
    SECTION("the last node granted it") {
        cast(a, 0, vote::held, start + 1ms, held);
        CHECK(cast(a, 1, vote::held, start + 1ms, {.free_at = start + 5s, .holder = 8}) ==
              actions{});
        CHECK(cast(a, 2, vote::granted, start + 1ms) == actions{judge});
        CHECK(a.may_try_later(a.reason(), start + 1ms));
    }
    SECTION("with a node dead the first refusal decides the try, and not whether it was split") {
        cast(a, 2, vote::unreachable, start + 1ms);
        CHECK(cast(a, 0, vote::held, start + 1ms, held) == actions{});
        CHECK(cast(a, 1, vote::granted, start + 1ms) == actions{judge});
        CHECK(a.may_try_later(a.reason(), start + 1ms));
    }
    SECTION("no node granted it") {
        cast(a, 2, vote::timed_out, start + 1ms);
        cast(a, 0, vote::held, start + 1ms, held);
        CHECK(cast(a, 1, vote::held, start + 1ms, held) == actions{judge});
        CHECK_FALSE(a.may_try_later(a.reason(), start + 1ms));
        CHECK(a.mute() == node_mask::only(2));
    }
    SECTION("a holder with a quorum ends it though a node is silent") {
        cast(a, 0, vote::held, start + 1ms, held);
        CHECK(cast(a, 1, vote::held, start + 1ms, held) == actions{judge});
        CHECK_FALSE(a.may_try_later(a.reason(), start + 1ms));
    }
}

TEST_CASE("no quorum is no split, and one that waits goes by its wait") {
    acquisition a = begun({});
    send(a, start);
    cast(a, 0, vote::granted, start + 1ms);
    cast(a, 1, vote::unreachable, start + 1ms);
    REQUIRE(cast(a, 2, vote::unreachable, start + 1ms) == actions{judge});
    CHECK_FALSE(a.may_try_later(a.reason(), start + 1ms));
    acquisition b = trying();
    cast(b, 0, vote::granted, start + 1ms);
    cast(b, 1, vote::held, start + 1ms, {.free_at = start + 300ms, .holder = 7});
    REQUIRE(cast(b, 2, vote::held, start + 1ms, {.free_at = start + 300ms, .holder = 8}) ==
            actions{judge});
    CHECK(refused(b, start + 1ms) == to_sleep);
    CHECK(b.due_at() == start + 300ms);
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

TEST_CASE("without a wait an acquire that begins again may be turned away before its second try") {
    acquisition a = begun({});
    a.settled(start, longest);
    REQUIRE(a.admitted(false) == actions{begin_try});
    send(a, start);
    a.give_back(true);
    a.begin_again();
    CHECK(a.settled(start + 2ms, longest) == actions{apply});
    CHECK(a.due(start + 1s, {}, false) == actions{turn_away});
    CHECK(a.reason() == errc::no_quorum);
}

TEST_CASE("one that begins again, and has its turn first, has no other try when the voters are known") {
    acquisition a = trying();
    a.give_back(true);
    a.begin_again();
    REQUIRE(a.turn() == actions{begin_try});
    send(a, start + 1ms);
    CHECK(a.settled(start + 2ms, longest) == actions{});
    hold(a, start + 5s, start + 3ms);
    a.refused(a.reason(), start + 3ms, acquisition::prospects{0, 0, {}});
    CHECK(a.settled(start + 4ms, longest) == actions{});
}

TEST_CASE("one whose time ends while it begins again is refused for what the try before it met") {
    acquisition a = trying();
    hold(a, start + 5s, start + 1ms);
    a.refused(a.reason(), start + 1ms, acquisition::prospects{0, 0, {}});
    REQUIRE(a.reason() == errc::contended);
    send(a, start + 990ms);
    cast(a, 0, vote::quarantine, start + 995ms);
    cast(a, 1, vote::quarantine, start + 995ms);
    REQUIRE(a.reason() == errc::no_quorum);
    a.give_back(true);
    a.begin_again();
    CHECK(a.due(start + 1s, {}, false) == actions{leave, refuse});
    CHECK(a.reason() == errc::contended);
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
    a.begin(of_nodes(3, false), node_lists(3), {.wait = 1s}, 1, start);
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
    CHECK_FALSE(b.may_try_later(b.reason(), start + 5ms));
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
    a.answered(0, {.free_at = start + 5s}, start + 2ms);
    CHECK_FALSE(a.may_be_entered());
    CHECK(a.answered(1, {.free_at = start + 5s}, start + 2ms) == actions{end_turn, arm});
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
        CHECK(has(a.answered(1, {.free_at = start + 5s}, start + 2ms), draw_ticket));
    }
    a.draw_ticket(77);
    a.draw_ticket(99);
    CHECK(a.ticket() == 77);
    CHECK_FALSE(has(a.answered(1, {.free_at = start + 5s}, start + 2ms), draw_ticket));
}

TEST_CASE("one that would not wait draws no ticket") {
    acquisition a = begun({});
    send(a, start);
    a.draw_ticket(77);
    CHECK(a.ticket() == 0);
}

TEST_CASE("it knows on which nodes its place may be, and on which this round put it") {
    acquisition a = trying();
    a.draw_ticket(77);
    a.sent(node_mask::only(0), 0, true);
    a.sent(node_mask::only(1), 0, false);
    CHECK(a.entered() == node_mask::only(0));
    CHECK(a.entered_now() == node_mask::only(0));
    hold(a, start + 1ms, start + 1ms);
    a.give_back(false);
    CHECK(a.entered() == node_mask::only(0));
    send(a, start + 2ms);
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
    CHECK_FALSE(a.may_try_later(a.reason(), start + 1ms));
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
    SECTION("where others wait before it, none of those that are free is for it") {
        const std::string_view all = "\7";
        a.cast(0, vote::queued, {.free_at = start + 5s}, {all, 3}, start + 2ms);
        a.cast(1, vote::queued, {.free_at = start + 5s}, {all, 3}, start + 2ms);
        CHECK(has(refused(a, start + 2ms), end_turn));
    }
    SECTION("where a quorum does not answer another slot would fare no better") {
        cast(a, 0, vote::unreachable, start + 2ms);
        REQUIRE(cast(a, 1, vote::unreachable, start + 2ms) == actions{judge});
        CHECK(a.may_try_later(a.reason(), start + 2ms));
    }
}

TEST_CASE("one that wants more slots than others name has no place in the line, and others pass") {
    acquisition a = begun({.wait = 1s, .slots = 5, .permits = 3});
    a.settled(start, longest);
    a.joined(true);
    a.draw_ticket(7);
    a.begin_try(any_ttl, 0, start);
    CHECK(a.draw_slot({}, [] { return std::uint64_t(4); }).number == 0);
    CHECK(std::vector(a.all_slots().begin(), a.all_slots().end()) ==
          std::vector<std::uint16_t>{0, 1, 4});
    a.begin_round({}, start);
    CHECK(a.may_be_entered());
    const auto count = GENERATE(std::uint16_t{2}, std::uint16_t{3});
    const std::string_view none("\0", 1);
    a.cast(0, vote::held, {.free_at = start + 5s}, {none, count}, start + 1ms);
    a.cast(1, vote::held, {.free_at = start + 5s}, {none, count}, start + 1ms);
    const actions next = refused(a, start + 1ms);
    CHECK(has(next, count == 3 ? release : leave));
    CHECK(a.may_be_entered() == (count == 3));
    a.answered(0, {.free_at = start + 5s}, start + 2ms);
    a.answered(1, {.free_at = start + 5s}, start + 2ms);
    CHECK(a.may_be_entered() == (count == 3));
    // The nodes say when the smaller number counts no more.
    a.queried(node_mask::first(3));
    a.answered(0, {.free_at = start + 5s, .slots = count}, start + 3ms);
    a.answered(1, {.free_at = start + 5s, .slots = count}, start + 3ms);
    CHECK(a.may_be_entered() == (count == 3));
    a.queried(node_mask::first(3));
    a.answered(0, {.free_at = start + 5s, .slots = 5}, start + 4ms);
    a.answered(1, {.free_at = start + 5s, .slots = 5}, start + 4ms);
    CHECK(a.may_be_entered());
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
        a.answered(1, both, start + 5ms);
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
    std::size_t splits = 0;
    for (int i = 0; i < 5'000; ++i) {
        const client_options& options = *all[below(3)];
        const std::size_t nodes = options.nodes.size();
        const auto wait = std::chrono::milliseconds(below(4) == 0 ? 0 : 1 + below(2'000));
        time_point now = start;
        acquisition a;
        a.begin(options, node_lists(nodes), {.ttl = 5s, .wait = wait}, 1 + below(2), now);
        a.settled(now, longest);
        const time_point last = start + std::max<duration>(wait, longest);
        std::deque<acquisition::action> next;
        const auto follow = [&](const actions& what) { next.assign(what.begin(), what.end()); };
        follow(a.turn());
        std::uint32_t rounds = 0;
        const auto on_refusal = [&] {
            CHECK(a.state() == phase::judged);
            CHECK_FALSE(a.is_open(a.round()));
            std::optional<acquisition::prospects> further;
            if (a.may_try_later(a.reason(), now)) further = {random(), below(100), 1ms};
            const actions after = a.refused(a.reason(), now, further);
            CHECK((has(after, refuse) || further.has_value()));
            const bool stays_in_line =
                a.waits() && a.reason() == errc::contended && !has(after, refuse);
            CHECK(after.front() == (stays_in_line ? release : leave));
            follow(after);
        };
        while (!a.is_over()) {
            if (next.empty()) {
                now += std::chrono::microseconds(below(20'000));
                if (a.waits()) CHECK(a.due_at() <= last);
                const bool rests = !a.waits() && a.state() == phase::asleep;
                if (rests) now = a.due_at();
                if (a.is_timed() && now >= a.due_at()) {
                    follow(a.due(now, {}, true));
                } else if (a.is_trying() && below(20) == 0) {
                    CHECK(a.turn() == actions{});
                } else if (a.is_trying()) {
                    const outlook what{.free_at = now + std::chrono::milliseconds(below(500))};
                    follow(cast(a, below(nodes), votes[below(votes.size())], now, what));
                } else if (below(2) == 0) {
                    a.woken(below(nodes), 0, {}, now);
                } else {
                    a.answered(below(nodes), {.free_at = now, .has_vote = below(2) == 0}, now);
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
                case apply: follow(a.admitted(false)); break;
                case stand_aside:
                case turn_away: FAIL("it has tried"); break;
                default: break;
            }
        }
        // A few steps of this loop. Without a wait the nodes end it: each has its time to answer.
        if (a.waits()) CHECK(now <= last + 100ms);
        splits += !a.waits() && a.tries() > 1 ? 1 : 0;
        retries += a.tries() - 1;
    }
    CHECK(splits > 100);
    CHECK(grants > 500);
    CHECK(retries > 500);
}

}  // namespace acquisition_test

// One try to acquire: every vote vector against the brute force, and the validity to the 1 ns.
namespace attempt_test {

using namespace redlock;
using namespace std::chrono_literals;
using core::attempt;
using core::choice;
using core::testing::oracle;
using core::testing::plain_count;
using verdict = core::attempt::verdict;

namespace {

constexpr time_point sent = time_point(72h);
constexpr time_point end = sent + 97ms;  // 100 ms less 1 % and 2 ms

const std::vector<vote> common{vote::granted, vote::held, vote::stale, vote::refused,
                               vote::quarantine};
const std::vector<vote> all_votes{vote::granted,    vote::held,    vote::queued,    vote::stale,
                                  vote::quarantine, vote::refused, vote::timed_out,
                                  vote::unreachable};

attempt fresh(std::size_t nodes) { return attempt(node_lists(nodes), sent, 100ms, {}); }

struct trying {
    explicit trying(std::size_t nodes) : machine(fresh(nodes)) {}
    attempt machine;
    plain_count votes;
    std::size_t stale = 0;  // they are among the no
    bool is_second = false;
    verdict expected = verdict::open;
    error_code reason;
};

// What the attempt should say after one more vote; it stands by what it said once. A vote that is
// stale is lost for this round and to be had in the next.
void foresee(trying& t, vote v, time_point now, oracle& o) {
    if (t.expected != verdict::open) return;
    if (v == vote::granted) ++t.votes.yes;
    else if (v == vote::held || v == vote::queued || v == vote::stale) ++t.votes.no;
    else ++t.votes.unable;
    t.stale += v == vote::stale ? 1U : 0U;
    const auto& view = o.at(t.votes);
    if (view.won) {
        t.expected = now < end ? verdict::granted : verdict::refused;
        if (now >= end) t.reason = errc::validity_exhausted;
        return;
    }
    // As if the stale ones had granted: that is what a second round is for.
    const plain_count next{t.votes.yes + t.stale, t.votes.no - t.stale, t.votes.unable};
    const auto& second = o.at(next);
    if (!t.is_second && second.won) {
        t.expected = verdict::again;
    } else if (!view.can_win && (t.is_second || !second.can_win)) {
        t.expected = verdict::refused;
        t.reason = view.can_answer ? errc::contended : errc::no_quorum;
    }
}

auto checked_step(oracle& o, time_point now = sent + 1ms) {
    return [&o, now](trying& t, std::size_t node, vote v) {
        foresee(t, v, now, o);
        const verdict said = t.machine.cast(node, v, now);
        if (said == t.expected && t.machine.state() == said && t.machine.reason() == t.reason) {
            return;
        }
        INFO("granted " << t.votes.yes << ", against " << t.votes.no << ", unable "
                        << t.votes.unable << "; last " << to_string(v) << " of node " << node);
        CHECK(said == t.expected);
        REQUIRE(t.machine.reason() == t.reason);
        REQUIRE(false);
    };
}

}  // namespace

TEST_CASE("only a grant is a yes, and only a node that could have granted says no") {
    CHECK(core::weigh(vote::pending) == choice::pending);
    CHECK(core::weigh(vote::granted) == choice::yes);
    CHECK(core::weigh(vote::stale) == choice::stale);
    for (const vote v : {vote::held, vote::queued}) {
        CHECK(core::weigh(v) == choice::no);
    }
    for (const vote v : {vote::quarantine, vote::refused, vote::timed_out, vote::unreachable}) {
        CHECK(core::weigh(v) == choice::unable);
    }
    CHECK(core::weigh(static_cast<vote>(200)) == choice::unable);
}

TEST_CASE("an attempt decides every vector in every order as soon as arithmetic allows") {
    const std::vector<std::size_t> sequences{0, 5, 50, 750, 15000, 375000};
    for (std::size_t nodes = 1; nodes <= 5; ++nodes) {
        oracle o(nodes);
        CHECK(core::testing::every_order(nodes, common, trying(nodes), checked_step(o)) ==
              sequences[nodes]);
    }
}

TEST_CASE("an attempt decides every vector of six and seven nodes as the brute force does") {
    const std::vector<vote> kinds{vote::granted, vote::held, vote::timed_out};
    for (const std::size_t nodes : {6U, 7U}) {
        oracle o(nodes);
        CHECK(core::testing::several_orders(nodes, kinds, false, trying(nodes),
                                            checked_step(o)) == (nodes == 6 ? 729 : 2187));
    }
}

TEST_CASE("an attempt decides every multiset of all votes as the brute force does") {
    const std::vector<std::size_t> multisets{0, 8, 36, 120, 330, 792, 1716, 3432};
    for (std::size_t nodes = 1; nodes <= 7; ++nodes) {
        oracle o(nodes);
        CHECK(core::testing::several_orders(nodes, all_votes, true, trying(nodes),
                                            checked_step(o)) == multisets[nodes]);
    }
}

TEST_CASE("the last nanosecond of the validity is still granted, the next is not") {
    for (std::size_t nodes = 1; nodes <= max_nodes; ++nodes) {
        const std::size_t quorum = nodes / 2 + 1;
        attempt in_time = fresh(nodes);
        CHECK(in_time.valid_until() == end);
        for (std::size_t node = 0; node + 1 < quorum; ++node) {
            REQUIRE(in_time.cast(node, vote::granted, sent) == verdict::open);
        }
        attempt late = in_time;
        CHECK(in_time.cast(quorum - 1, vote::granted, end - 1ns) == verdict::granted);
        CHECK_FALSE(in_time.reason());
        CHECK(late.cast(quorum - 1, vote::granted, end) == verdict::refused);
        CHECK(late.reason() == errc::validity_exhausted);
    }
}

TEST_CASE("an attempt without validity is never granted") {
    attempt a(node_lists(1), sent, 2ms, {0.0, 2ms});
    CHECK(a.valid_until() == sent);
    CHECK(a.cast(0, vote::granted, sent) == verdict::refused);
    CHECK(a.reason() == errc::validity_exhausted);
    attempt b(node_lists(1), sent, 1ms, {});
    CHECK(b.cast(0, vote::granted, sent) == verdict::refused);
}

TEST_CASE("an attempt that can no longer be granted in time is refused by the next answer") {
    for (const vote v : all_votes) {
        attempt a = fresh(5);
        INFO(to_string(v));
        CHECK(a.cast(0, v, end) == verdict::refused);
        CHECK(a.reason() == errc::validity_exhausted);
    }
    attempt just_in_time = fresh(5);
    CHECK(just_in_time.cast(0, vote::granted, end - 1ns) == verdict::open);
}

TEST_CASE("thirty-two nodes grant with the seventeenth and have lost with the sixteenth no") {
    attempt granted = fresh(32);
    for (std::size_t node = 0; node < 16; ++node) granted.cast(node, vote::granted, sent);
    CHECK(granted.state() == verdict::open);
    CHECK(granted.cast(31, vote::granted, sent) == verdict::granted);
    attempt contended = fresh(32);
    for (std::size_t node = 0; node < 15; ++node) contended.cast(node, vote::held, sent);
    CHECK(contended.state() == verdict::open);
    CHECK(contended.cast(31, vote::unreachable, sent) == verdict::refused);
    CHECK(contended.reason() == errc::contended);
}

TEST_CASE("a second vote of a node, and one of no node, change nothing") {
    for (std::size_t nodes = 1; nodes <= 9; ++nodes) {
        attempt a = fresh(nodes);
        const bool decided_by_one = nodes == 1;
        a.cast(0, vote::granted, sent);
        attempt b = fresh(nodes);
        b.cast(0, vote::held, sent);
        for (const vote v : all_votes) {
            for (int i = 0; i < 9; ++i) {
                a.cast(0, v, sent);
                b.cast(0, v, sent);
                a.cast(nodes, v, sent);
                b.cast(max_nodes, v, sent);
                a.cast(std::numeric_limits<std::size_t>::max(), v, sent);
            }
        }
        INFO("nodes: " << nodes);
        CHECK(a.state() == (decided_by_one ? verdict::granted : verdict::open));
        CHECK(b.state() == (nodes <= 2 ? verdict::refused : verdict::open));
        CHECK(b.reason() == (nodes <= 2 ? error_code(errc::contended) : error_code()));
    }
}

TEST_CASE("a pending vote is none") {
    attempt a = fresh(1);
    CHECK(a.cast(0, vote::pending, sent) == verdict::open);
    CHECK(a.cast(0, vote::granted, sent) == verdict::granted);
}

TEST_CASE("what comes after the verdict, even after the validity, changes nothing") {
    attempt granted = fresh(3);
    granted.cast(0, vote::granted, sent);
    granted.cast(1, vote::granted, sent);
    CHECK(granted.cast(2, vote::held, end + 1h) == verdict::granted);
    CHECK_FALSE(granted.reason());
    attempt refused = fresh(3);
    refused.cast(0, vote::held, sent);
    refused.cast(1, vote::held, sent);
    CHECK(refused.cast(2, vote::granted, end + 1h) == verdict::refused);
    CHECK(refused.reason() == errc::contended);
}

// --- the second round ------------------------------------------------------------------------

namespace {

constexpr time_point sent_again = sent + 50ms;
constexpr time_point end_again = sent_again + 97ms;

// Through the second round with every vector in every order, from each first round that ends so.
std::size_t second_rounds(std::size_t nodes, oracle& o) {
    std::size_t sequences = 0;
    trying second(nodes);
    for (std::size_t i = 0; i < nodes; ++i) {
        // Granted by one of five, stale on the rest: nothing of that may count.
        second.machine.cast(i, i == 4 ? vote::granted : vote::stale, sent + 1ms);
    }
    REQUIRE(second.machine.state() == verdict::again);
    second.machine.begin_second(sent_again);
    REQUIRE(second.machine.state() == verdict::open);
    second.is_second = true;
    sequences += core::testing::every_order(nodes, common, second, checked_step(o, sent_again));
    return sequences;
}

attempt in_second(std::size_t nodes, std::size_t granted) {
    attempt a = fresh(nodes);
    for (std::size_t i = 0; i < nodes; ++i) {
        a.cast(i, i < granted ? vote::granted : vote::stale, sent);
    }
    a.begin_second(sent_again);
    return a;
}

}  // namespace

TEST_CASE("the second round decides every vector in every order and is the last") {
    const std::vector<std::size_t> sequences{0, 5, 50, 750, 15000, 375000};
    for (std::size_t nodes = 1; nodes <= 5; ++nodes) {
        oracle o(nodes);
        CHECK(second_rounds(nodes, o) == sequences[nodes]);
    }
}

TEST_CASE("no vote for the first fence counts for the second") {
    for (std::size_t nodes = 2; nodes <= 9; ++nodes) {
        const std::size_t quorum = nodes / 2 + 1;
        attempt a = in_second(nodes, quorum - 1);
        REQUIRE(a.state() == verdict::open);
        for (std::size_t i = 0; i + 1 < quorum; ++i) {
            REQUIRE(a.cast(nodes - 1 - i, vote::granted, sent_again) == verdict::open);
            REQUIRE(a.cast(nodes - 1 - i, vote::granted, sent_again) == verdict::open);
        }
        CHECK(a.cast(0, vote::granted, sent_again) == verdict::granted);
    }
}

TEST_CASE("there is no third round however many are stale") {
    for (std::size_t nodes = 1; nodes <= 5; ++nodes) {
        attempt a = in_second(nodes, 0);
        for (std::size_t i = 0; i < nodes; ++i) a.cast(i, vote::stale, sent_again);
        CHECK(a.state() == verdict::refused);
        CHECK(a.reason() == errc::contended);
        a.begin_second(sent_again + 1ms);
        CHECK(a.state() == verdict::refused);
    }
}

TEST_CASE("begin_second does nothing unless the votes call for a second round") {
    attempt open = fresh(3);
    open.cast(0, vote::granted, sent);
    open.begin_second(sent + 1s);
    CHECK(open.valid_until() == end);
    CHECK(open.cast(1, vote::granted, sent) == verdict::granted);
    open.begin_second(sent + 1s);
    CHECK(open.state() == verdict::granted);
    CHECK(open.valid_until() == end);
}

TEST_CASE("between the rounds no vote counts") {
    attempt a = fresh(3);
    a.cast(0, vote::stale, sent);
    REQUIRE(a.cast(1, vote::stale, sent) == verdict::again);
    CHECK(a.cast(2, vote::granted, sent) == verdict::again);
    a.begin_second(sent_again);
    CHECK(a.cast(2, vote::granted, sent_again) == verdict::open);
    CHECK(a.cast(0, vote::granted, sent_again) == verdict::granted);
}

TEST_CASE("the validity of the second round counts from its own sending to the nanosecond") {
    attempt in_time = in_second(3, 1);
    CHECK(in_time.valid_until() == end_again);
    in_time.cast(0, vote::granted, sent_again);
    attempt late = in_time;
    CHECK(in_time.cast(1, vote::granted, end_again - 1ns) == verdict::granted);
    CHECK(late.cast(1, vote::granted, end_again) == verdict::refused);
    CHECK(late.reason() == errc::validity_exhausted);
}

TEST_CASE("a first round that took the whole validity is not followed by a second") {
    attempt in_time = fresh(3);
    in_time.cast(0, vote::stale, end - 2ns);
    attempt late = in_time;
    CHECK(in_time.cast(1, vote::stale, end - 1ns) == verdict::again);
    CHECK(late.cast(1, vote::stale, end) == verdict::refused);
    CHECK(late.reason() == errc::validity_exhausted);
}

TEST_CASE("the second round begins as soon as those that answered can win it") {
    struct sequence {
        std::size_t nodes;
        std::vector<vote> votes;  // the last of them decides, and not one before
    };
    const std::vector<sequence> all{
        {1, {vote::stale}},
        {2, {vote::stale, vote::granted}},
        {3, {vote::granted, vote::stale}},
        {3, {vote::stale, vote::granted}},
        {3, {vote::stale, vote::stale}},
        {3, {vote::timed_out, vote::granted, vote::stale}},
        {3, {vote::held, vote::stale, vote::granted}},
        {4, {vote::granted, vote::stale, vote::granted}},
        {5, {vote::granted, vote::granted, vote::stale}},
        {5, {vote::stale, vote::held, vote::granted, vote::unreachable, vote::granted}},
    };
    for (const auto& s : all) {
        attempt a = fresh(s.nodes);
        for (std::size_t i = 0; i < s.votes.size(); ++i) {
            INFO(s.nodes << " nodes, vote " << i);
            const bool is_last = i + 1 == s.votes.size();
            CHECK(a.cast(i, s.votes[i], sent) == (is_last ? verdict::again : verdict::open));
        }
    }
}

TEST_CASE("without a stale vote there is no second round, however few have answered") {
    for (std::size_t nodes = 1; nodes <= max_nodes; ++nodes) {
        const std::size_t quorum = nodes / 2 + 1;
        attempt a = fresh(nodes);
        for (std::size_t node = 0; node + 1 < quorum; ++node) {
            REQUIRE(a.cast(node, vote::granted, sent) == verdict::open);
        }
        // The quorum was reached in the first round: a stale vote changes nothing then.
        attempt granted = a;
        CHECK(granted.cast(quorum - 1, vote::granted, sent) == verdict::granted);
        CHECK(granted.cast(quorum, vote::stale, sent) == verdict::granted);
        if (nodes > 1) CHECK(a.cast(quorum - 1, vote::stale, sent) == verdict::again);
    }
}

}  // namespace attempt_test

// Which slot is requested: by what nodes reported, by what was freed, and by chance.
namespace slot_choice_test {

using namespace redlock;
using core::slot_choice;

namespace {

/// The answer of a node on which these slots are free.
std::string free_are(std::initializer_list<unsigned> slots, std::size_t bytes = 1) {
    std::string out(bytes, '\0');
    for (const unsigned i : slots) out[i / 8] = static_cast<char>(out[i / 8] | 1 << i % 8);
    return out;
}

/// All that may be drawn.
std::set<std::uint16_t> drawn(const slot_choice& from) {
    std::set<std::uint16_t> out;
    for (std::uint64_t random = 0; random < 100; ++random) {
        slot_choice one = from;
        out.insert(one.draw(random));
    }
    return out;
}

}  // namespace

TEST_CASE("the first slot is left to chance") {
    CHECK(drawn(slot_choice(node_lists(3), 4)) == std::set<std::uint16_t>{0, 1, 2, 3});
    CHECK(drawn(slot_choice(node_lists(3), 1)) == std::set<std::uint16_t>{0});
}

TEST_CASE("a slot that was freed is drawn first, once") {
    slot_choice one(node_lists(3), 4);
    one.suggest(2);
    CHECK(one.draw(1) == 2);
    CHECK(one.draw(1) == 1);
    one.suggest(4);  // there is none
    CHECK(one.draw(3) == 3);
}

TEST_CASE("a slot that was given back here goes before all that the nodes said") {
    slot_choice one(node_lists(3), 4);
    one.draw(0);
    one.refused(0, free_are({1}), 4);
    one.suggest(2);
    CHECK(one.draw(0, 3) == 3);
    CHECK_FALSE(one.is_another_free());
    CHECK(one.draw(0, 4) == 0);  // by a lease of more slots
}

TEST_CASE("the next slot may be free on a quorum, and is taken on the fewest nodes") {
    slot_choice one(node_lists(3), 4);
    one.draw(0);
    one.refused(0, free_are({1, 2}), 4);
    CHECK(one.is_another_free());  // by the two that have not said so
    one.refused(1, free_are({2, 3}), 4);
    CHECK(one.is_another_free());
    CHECK(drawn(one) == std::set<std::uint16_t>{2});
    one.refused(2, free_are({}), 4);
    CHECK(drawn(one) == std::set<std::uint16_t>{2});  // on one node it is taken
}

TEST_CASE("where no slot may be free on a quorum none is tried at once") {
    slot_choice one(node_lists(3), 2);
    one.draw(0);
    CHECK_FALSE(one.is_another_free());  // nobody said anything
    one.refused(0, free_are({0}), 2);
    one.refused(1, free_are({}), 2);
    one.refused(2, free_are({1}), 2);
    CHECK_FALSE(one.is_another_free());
    CHECK(drawn(one) == std::set<std::uint16_t>{0, 1});  // when it tries again
}

TEST_CASE("the nodes' answers to one try do not count for the next") {
    slot_choice one(node_lists(3), 2);
    one.draw(0);
    one.refused(0, free_are({1}), 2);
    CHECK(one.draw(0) == 1);
    CHECK_FALSE(one.is_another_free());
}

TEST_CASE("so many tries follow each other, until it rests") {
    slot_choice one(node_lists(3), 8);
    for (unsigned i = 0; i < slot_choice::most_in_a_row; ++i) {
        if (i > 0) CHECK(one.is_another_free());
        one.draw(i);
        one.refused(0, free_are({0, 1, 2, 3, 4, 5, 6, 7}), 8);
    }
    CHECK_FALSE(one.is_another_free());
    one.rest();
    CHECK(one.is_another_free());
}

TEST_CASE("the smallest number of slots that any node names counts") {
    slot_choice one(node_lists(3), 20);
    CHECK(one.counted() == 20);
    one.draw(0);
    one.refused(0, free_are({0, 1}, 1), 2);
    CHECK(one.counted() == 2);
    one.refused(1, free_are({0, 1, 2, 9, 19}, 3), 20);
    CHECK(one.counted() == 2);
    CHECK(drawn(one) == std::set<std::uint16_t>{0, 1});
    one.draw(0);
    CHECK(drawn(one) == std::set<std::uint16_t>{0, 1});
}

TEST_CASE("an answer that is too short or too long for its slots is no more than it says") {
    slot_choice one(node_lists(1), 20);
    one.draw(0);
    one.refused(0, "", 20);
    CHECK_FALSE(one.is_another_free());
    one.draw(0);
    one.refused(0, std::string(200, '\xff'), 1'000);
    CHECK(one.is_another_free());
    CHECK(drawn(one).size() == 20);
}

TEST_CASE("several slots are all different, and of those that one quorum may have together") {
    slot_choice two(node_lists(3), 4, 2);
    std::set<std::vector<std::uint16_t>> all;
    for (std::uint64_t random = 0; random < 200; ++random) {
        slot_choice one = two;
        all.insert(one.draw_all(random));
    }
    CHECK(all == std::set<std::vector<std::uint16_t>>{{0, 1}, {1, 2}, {2, 3}, {3, 0}});
    (void)two.draw_all(0);
    two.refused(0, free_are({1, 2}), 4);
    two.refused(1, free_are({2, 3}), 4);
    slot_choice three = two;
    CHECK(two.is_another_free());  // by the node that has not said so
    all.clear();
    for (std::uint64_t random = 0; random < 20; ++random) {
        slot_choice one = two;
        all.insert(one.draw_all(random));
    }
    CHECK(all == std::set<std::vector<std::uint16_t>>{{2, 1}, {2, 3}});  // 2 is free on both
}

TEST_CASE("slots of which each is free on a quorum, but not on the same one, are not enough") {
    slot_choice one(node_lists(3), 3, 3);
    (void)one.draw_all(0);
    one.refused(0, free_are({0, 1}), 3);
    one.refused(1, free_are({1, 2}), 3);
    CHECK_FALSE(one.is_another_free());
    CHECK(one.draw_all(0).size() == 3);  // when it tries again
    one.refused(0, free_are({0, 1, 2}), 3);
    CHECK(one.is_another_free());
}

TEST_CASE("several slots are not free where a node counts fewer") {
    slot_choice one(node_lists(1), 10, 4);
    (void)one.draw_all(0);
    one.refused(0, free_are({0, 1, 2, 3, 4}, 2), 3);
    CHECK_FALSE(one.is_another_free());
}

TEST_CASE("what a node counted holds until it is queried again, or a quorum is") {
    slot_choice one(node_lists(3), 5, 3);
    one.count(0, 2);
    one.count_anew(node_mask::only(1));
    one.count(1, 5);
    CHECK_FALSE(one.are_enough());
    SECTION("it") { one.count_anew(node_mask::only(0)); }
    SECTION("a quorum, where it is gone") {
        one.count_anew(node_mask::only(1) | node_mask::only(2));
        CHECK_FALSE(one.are_enough());  // as long as nobody has answered
        one.count(1, 5);
    }
    CHECK(one.are_enough());
}

}  // namespace slot_choice_test

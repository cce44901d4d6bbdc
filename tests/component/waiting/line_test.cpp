// Tests waiting in line, within a client and behind the waiters of others; knows no socket.
// SPDX-License-Identifier: MIT
#include "component/support/waiting.hpp"
#include "support/catch.hpp"
#include "wire/resp/command.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::fakes;
using namespace std::chrono_literals;

TEST_CASE("in one client the waiters are granted in their order, and only the first asks") {
    connected_world w(fenced_options_for(3));
    std::vector<ending_ptr> waiters;
    for (int i = 0; i < 100; ++i) waiters.push_back(w.acquire("r", {.wait = 60s}));
    for (std::size_t i = 0; i < waiters.size(); ++i) {
        CHECK(time_until_over(w, *waiters[i]) == trip);
        REQUIRE(waiters[i]->held);
        w.run_for(5ms);
        const auto granted = std::count_if(waiters.begin(), waiters.end(),
                                           [](const auto& e) { return e->is_over(); });
        CHECK(granted == static_cast<std::ptrdiff_t>(i) + 1);
        for (std::size_t node = 0; node < 3; ++node) {
            CHECK(calls_of(w, ask::acquire, node) == i + 1);
            CHECK(calls_of(w, ask::release, node) == i);
        }
        w.release(std::move(waiters[i]->held));
    }
    CHECK(calls_in_all(w, resp::wait()) == 0);
    CHECK(w.count_sent("SUBSCRIBE") == 0);
}

TEST_CASE("waiters send nothing while an earlier waiter of their client holds the resource") {
    connected_world w(fenced_options_for(3));
    auto holder = w.granted("r", {.wait = 1s});
    REQUIRE(holder->held);
    w.run_for(5ms);
    const auto sent = sent_in_all(w);
    std::vector<ending_ptr> waiters;
    for (int i = 0; i < 10; ++i) waiters.push_back(w.acquire("r", {.wait = 60s}));
    w.run_for(40s);
    CHECK(sent_in_all(w) == sent);
    CHECK(w.count_sent("SUBSCRIBE") == 0);
    CHECK(holder->held);
}

TEST_CASE("the next acquire leaves with what frees the resource") {
    const bool had_waited = GENERATE(true, false);
    connected_world w(fenced_options_for(3));
    acquire_options how{.ttl = 2s, .renew = false};
    if (had_waited) how.wait = 1s;
    auto holder = w.granted("r", how);
    const auto next = w.acquire("r", {.wait = 60s});
    w.run_for(100ms);
    const auto log = log_of(w, 1);
    auto freed = w.now;
    SECTION("a release") { w.release(std::move(holder->held)); }
    SECTION("a lease that is dropped") { holder->held = {}; }
    SECTION("the end of the validity") { freed = holder->held.valid_until(); }
    REQUIRE(w.run_until_over(*next));
    CHECK(next->held);
    CHECK(w.now - freed == trip);
    const auto released = std::find_if(
        log->begin(), log->end(), [](const auto& l) { return is_call(l.what, ask::release); });
    REQUIRE(released != log->end());
    CHECK(released->when == freed + latency);
    const auto asked = testing::requests_of(released->what);
    REQUIRE(asked->all.size() == 2);
    CHECK(asked->all[0].what == ask::release);
    CHECK(asked->all[1].what == ask::acquire);
}

TEST_CASE("a waiter behind a lease that its client detached is granted when the keys run out") {
    connected_world w(fenced_options_for(3));
    auto holder = w.granted("r", {.ttl = 2s, .wait = 1s, .renew = false});
    const auto began = w.now;
    const auto next = w.acquire("r", {.wait = 60s});
    w.run_for(100ms);
    const auto before = calls_in_all(w, ask::acquire);
    holder->held.detach();
    w.run_for(1ms);
    CHECK(calls_in_all(w, ask::acquire) == before + 3);
    REQUIRE(w.run_until_over(*next));
    CHECK(next->held);
    CHECK(w.now - began <= 2s + 2ms + 2 * trip);
    CHECK(calls_in_all(w, ask::acquire) == before + 6);
}

TEST_CASE("a lease that an operator took keeps no acquire of its own client waiting") {
    connected_world w(fenced_options_for(3));
    const owner_id mine{{1, 2, 3}};
    const auto holder = w.granted("r", {.ttl = 10s, .wait = 1s, .owner = mine});
    REQUIRE(holder->held);
    const auto lost = w.lost(holder->held);
    const auto waiter = w.acquire("r", {.wait = 30s});
    const auto shown = w.inspect("r");
    REQUIRE(w.run_until_over(*shown));
    REQUIRE(w.run_until_over(*w.revoke(shown->state)));
    REQUIRE(w.run_until_over(*lost));
    CHECK(lost->lost_for == loss::taken);
    REQUIRE(w.now + 5s < holder->held.valid_until());
    w.run_for(5ms);
    CHECK(waiter->held);
    CHECK(w.granted("r", {.owner = mine})->outcome() == errc::contended);  // and not in use
    w.run_for(20s);
    CHECK(waiter->held);
    CHECK(w.ours("r") == 3);
}

TEST_CASE("a lease that is lost otherwise keeps them waiting until its validity is over") {
    connected_world w(fenced_options_for(3));
    const auto holder =
        w.granted("r", {.ttl = 10s, .wait = 1s, .renew = false, .loss_margin = 4s});
    const auto lost = w.lost(holder->held);
    const auto waiter = w.acquire("r", {.wait = 30s});
    REQUIRE(w.run_until_over(*lost));
    CHECK(lost->lost_for == loss::expired);
    const auto until = holder->held.valid_until();
    w.run_for(until - w.now - 1ms);
    CHECK_FALSE(waiter->is_over());
    w.run_for(6ms);
    CHECK(waiter->held);
}

TEST_CASE("a waiter leaves at once, whatever its place, and the others keep theirs") {
    const bool is_held_here = GENERATE(true, false);
    const std::size_t place = GENERATE(0U, 1U, 2U);
    const bool is_cancelled = GENERATE(true, false);
    connected_world w(fenced_options_for(3));
    ending_ptr holder;
    if (is_held_here) {
        holder = w.granted("r", {.wait = 1s});
    } else {
        w.take_elsewhere("r", 3);
    }
    std::vector<ending_ptr> waiters;
    const auto began = w.now;
    for (std::size_t i = 0; i < 3; ++i) {
        const bool is_short = i == place && !is_cancelled;
        waiters.push_back(w.acquire("r", {.wait = is_short ? 777ms : 60'000ms}));
    }
    if (is_cancelled) {
        w.run_for(123ms);
        w.cancel(*waiters[place]);
        CHECK(waiters[place]->outcomes ==
              std::vector<error_code>{boost::asio::error::operation_aborted});
    } else {
        REQUIRE(w.run_until_over(*waiters[place]));
        CHECK(w.now - began == 777ms);
        CHECK(waiters[place]->outcomes == std::vector<error_code>{errc::contended});
    }
    w.run_for(3s);
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < 3; ++i) {
        if (i != place) others.push_back(i);
    }
    CHECK_FALSE(waiters[others[0]]->is_over());
    if (is_held_here) {
        w.release(std::move(holder->held));
    } else {
        stranger(w).release_all("r");
    }
    CHECK(time_until_over(w, *waiters[others[0]]) <= 2 * trip);
    CHECK(waiters[others[0]]->held);
    CHECK_FALSE(waiters[others[1]]->is_over());
}

TEST_CASE("an acquire without wait behind its client's waiters is contended, and sends nothing") {
    connected_world w(fenced_options_for(3));
    auto holder = w.granted("r", {.wait = 1s});
    const auto waiter = w.acquire("r", {.wait = 60s});
    w.run_for(1ms);
    const auto sent = sent_in_all(w);
    const auto hasty = w.acquire("r");
    CHECK(hasty->outcomes == std::vector<error_code>{errc::contended});
    REQUIRE(hasty->held.votes().size() == 3);
    CHECK(hasty->held.votes()[2].answer == vote::queued);
    w.run_for(10ms);
    CHECK(sent_in_all(w) == sent);
}

TEST_CASE("an acquire without wait takes nothing while another client waits on the nodes") {
    connected_world w(fenced_options_for(3));
    stranger other(w);
    other.enter_all("r", 1);
    const auto hasty = w.granted("r");
    CHECK(hasty->outcome() == errc::contended);
    const auto votes = hasty->held.votes();
    CHECK(std::count_if(votes.begin(), votes.end(),
                        [](const auto& v) { return v.answer == vote::queued; }) >= 2);
    w.run_for(5ms);
    CHECK(w.ours("r") == 0);
    CHECK(queued_in_all(w, "r") == 3);
    // As soon as that one is dead, it counts no more.
    w.run_for(2s);
    CHECK(w.granted("r")->held);
}

TEST_CASE("without fences waiters stand in line here, and no node hears of them") {
    connected_world w(3);
    w.take_elsewhere("r", 3, 1s);
    std::vector<ending_ptr> all;
    for (int i = 0; i < 3; ++i) all.push_back(w.acquire("r", {.wait = 60s}));
    const auto began = w.now;
    REQUIRE(w.run_until_over(*all[0]));
    REQUIRE(all[0]->held);
    CHECK(w.now - began >= 1s);
    CHECK(w.now - began <= 1s + 100ms + 2 * trip);
    for (std::size_t i = 1; i < 3; ++i) {
        w.run_for(1s);
        CHECK_FALSE(all[i]->is_over());
        const auto sets = w.count_sent("SET");
        w.release(std::move(all[i - 1]->held));
        CHECK(time_until_over(w, *all[i]) == trip);
        CHECK(w.count_sent("SET") <= sets + 3);
    }
    CHECK(w.count_sent("SUBSCRIBE") == 0);
    CHECK(calls_in_all(w, resp::wait()) == 0);
    for (std::size_t i = 0; i < 3; ++i) CHECK(queue_of(w, i, "r").empty());
}

TEST_CASE("a client's next waiter stands behind other clients' waiters already on the nodes") {
    connected_world w(fenced_options_for(3));
    auto holder = w.granted("r", {.wait = 1s});
    const auto next = w.acquire("r", {.wait = 60s});
    w.run_for(1ms);
    stranger other(w);
    other.listen();
    other.enter_all("r", 1, 60s);
    w.release(std::move(holder->held));
    w.run_for(20ms);
    CHECK(other.nodes_heard() == 3);
    CHECK_FALSE(next->is_over());
    CHECK(w.ours("r") == 0);
    for (std::size_t i = 0; i < 3; ++i) {
        const auto all = queue_of(w, i, "r");
        REQUIRE(all.size() == 2);
        CHECK(all[0].ticket == 1);
    }
    w.take_elsewhere("r", 3);
    w.run_for(3s);
    CHECK(calls_of(w, ask::acquire, 0) == 2);
    for (std::size_t i = 0; i < 3; ++i) other.leave(i, "r", 1);
    w.run_for(20ms);
    CHECK_FALSE(next->is_over());
    stranger(w, "holder").release_all("r");
    CHECK(time_until_over(w, *next) == latency + trip);
    CHECK(next->held);
}

TEST_CASE("an inspection tells how many wait, and this client's own place among them") {
    world w(fenced_options_for(3));
    w.step_clock(0, GENERATE(0s, -3s, 3s));  // each node's entries go by its own clock
    w.connected();
    const auto seen = [&] {
        const auto e = w.inspect("r");
        w.run_until_over(*e);
        return e->state;
    };
    CHECK(seen().waiting == 0);
    CHECK_FALSE(seen().place);
    w.take_elsewhere("r", 3);
    stranger other(w);
    other.listen();
    other.enter_all("r", 1, 60s);
    CHECK(seen().waiting == 1);
    CHECK_FALSE(seen().place);
    const auto first = w.acquire("r", {.wait = 60s});
    const auto second = w.acquire("r", {.wait = 60s});  // stands in line here, behind the first
    w.run_for(20ms);
    CHECK(seen().waiting == 2);
    CHECK(seen().place == std::optional<std::size_t>(2));
    // Where one node has lost its queue the others still know.
    w.nodes[1].put("{r}:queue", "no queue", time_point::max());
    CHECK(seen().place == std::optional<std::size_t>(2));
    CHECK(seen().nodes[1].state == key_state::held);
    for (std::size_t i = 0; i < 3; ++i) other.leave(i, "r", 1);
    CHECK(seen().place == std::optional<std::size_t>(1));
    SECTION("a node whose clock is off knows as well as any") {
        w.nodes[2].put("{r}:queue", "no queue", time_point::max());
        CHECK(seen().waiting == 1);
        CHECK(seen().place == std::optional<std::size_t>(1));
    }
    SECTION("a dead waiter does not count") {
        stranger gone(w);
        gone.enter_all("r", 1, 1s);
        CHECK(seen().waiting == 2);
        w.run_for(1100ms);
        CHECK(seen().waiting == 1);
    }
}

TEST_CASE("waiting ends at its deadline also where the nodes have not answered by then") {
    const auto way = GENERATE(4ms, 6ms, 20ms);
    world w(fenced_options_for(3));
    w.latency = {way, way, way};
    w.connected();
    w.run_for(500ms);
    w.take_elsewhere("r", 3);
    const auto began = w.now;
    const auto e = w.acquire("r", {.wait = 1s});
    w.run_for(990ms - 1us);
    REQUIRE_FALSE(e->is_over());
    const auto tried = calls_of(w, ask::acquire, 0);
    w.after(way, [&] {
        for (auto& node : w.nodes) node.remove("r");
    });
    REQUIRE(w.run_until_over(*e));
    if (way < 5ms) {
        CHECK(e->held);
        CHECK(w.now - began == 990ms + 2 * way);
    } else {
        CHECK(e->outcome() == errc::contended);
        CHECK(w.now - began == 1s);
        // The last try had no answer: what explains the outcome is what the one before it received.
        const auto votes = e->held.votes();
        CHECK(std::count_if(votes.begin(), votes.end(),
                            [](const auto& v) { return v.answer == vote::held; }) >= 2);
    }
    w.run_for(3 * way);
    CHECK(calls_of(w, ask::acquire, 0) == tried + 1);
    CHECK(w.ours("r") == (way < 5ms ? 3 : 0));
    CHECK(queued_in_all(w, "r") == 0);
}

// What is said of the votes of a try where the nodes are all new and one is missing.
TEST_CASE("one that would not wait before the nodes are known hears that they can't vote yet") {
    world w(fenced_options_for(3));
    w.modes[0] = mode::mute;
    w.start();
    const auto e = w.granted("r");
    CHECK(e->outcome() == errc::no_quorum);
}

// The alarm that settles the votes is followed, in the same turn, by that of a waiter whose time
// has passed meanwhile.
TEST_CASE("a waiter whose time is over before the nodes are known has one try all the same") {
    const auto wait = GENERATE(1ms, 100ms, 499ms, 500ms);
    world w(fenced_options_for(3));
    w.modes[0] = mode::mute;
    w.start();
    const auto e = w.acquire("r", {.wait = wait});
    REQUIRE(w.run_until_over(*e));
    CHECK(e->outcome() == errc::no_quorum);
    CHECK(e->held.votes()[1].answer == vote::quarantine);
}

TEST_CASE("the only waiter behind its own client's lease is answered that this client holds it") {
    connected_world w(fenced_options_for(3));
    const auto holder = w.granted("r", {.wait = 1s});
    REQUIRE(holder->held);
    const auto e = w.granted("r", {.wait = 1s});
    REQUIRE(e->outcome() == errc::contended);
    CHECK(e->held.votes()[0].detail == "this client holds it");
}

namespace {

/// The releases that name a waiter, on all nodes.
std::size_t releases_of_waiters(const world& w) {
    std::size_t n = 0;
    for (const auto& node : w.nodes) {
        for (const command& c : node.seen) {
            const auto got = testing::requests_of(c);
            if (!got) continue;
            n += static_cast<std::size_t>(
                std::count_if(got->all.begin(), got->all.end(), [](const auto& one) {
                    return one.what == ask::release && !one.id.empty();
                }));
        }
    }
    return n;
}

}  // namespace

TEST_CASE("a waiter that is granted at once stands in no queue, and its release names none") {
    connected_world w(fenced_options_for(3));
    w.take_elsewhere("x", 3);
    const auto listens = asleep(w, "x");  // a client listens from its first sleep on
    w.run_for(100ms);
    const bool is_one_held = GENERATE(false, true);
    if (is_one_held) w.take_elsewhere("r", 1);  // that node does not grant it, and enters it
    const auto e = w.granted("r", {.wait = 5s});
    REQUIRE(e->held);
    w.run_for(20ms);
    REQUIRE(queued_in_all(w, "r") == (is_one_held ? 1 : 0));
    const auto released = w.release(std::move(e->held));
    REQUIRE(w.run_until_over(*released));
    w.run_for(20ms);
    CHECK(releases_of_waiters(w) == (is_one_held ? 1 : 0));
    CHECK(queued_in_all(w, "r") == 0);
}

// Tests how waiters keep their entries alive, and how little they send; knows no socket.
// SPDX-License-Identifier: MIT
#include "component/support/waiting.hpp"
#include "support/catch.hpp"
#include "wire/resp/command.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::fakes;
using namespace std::chrono_literals;

TEST_CASE("a waiter sends a bounded number of commands until a key runs out, and has it then") {
    // Sent when the subscription stands, and then from refresh to refresh.
    const auto [ttl, questions] =
        GENERATE(table<std::chrono::milliseconds, std::size_t>({{500ms, 1}, {3s, 5}, {9s, 13}}));
    connected_world w(fenced_options_for(3));
    w.take_elsewhere("r", 3, ttl);
    const auto gone = w.now + ttl;
    const auto e = w.acquire("r", {.wait = 60s});
    REQUIRE(w.run_until_over(*e));
    REQUIRE(e->held);
    // Its time comes in whole ms, and one is added since a key in its last one is still there.
    CHECK(w.now - gone <= 2ms + latency + trip);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(calls_of(w, ask::acquire, i) == 2);
        CHECK(calls_of(w, ask::release, i) == 1);
        const auto asked = calls_of(w, resp::wait(), i);
        // Each refresh may come up to 100 ms late.
        CHECK(asked <= 1 + static_cast<std::size_t>(ttl / 650ms));
        CHECK(asked >= 1 + static_cast<std::size_t>(ttl / 750ms));
        if (ttl < 5s) CHECK(asked == questions);
    }
}

TEST_CASE("a waiter is entered with its first ticket, and only where it listens") {
    connected_world w(fenced_options_for(3));
    w.take_elsewhere("r", 3);
    const auto log = log_of(w, 0);
    const auto e = w.acquire("r", {.wait = 60s});
    while (w.turn(w.now + 20ms)) {
        for (std::size_t i = 0; i < 3; ++i) {
            if (!queue_of(w, i, "r").empty()) CHECK(w.engine->listeners().is_listening(i));
        }
    }
    std::string ticket;
    for (const auto& l : *log) {
        const auto asked = testing::requests_of(l.what);
        if (asked && ticket.empty()) ticket = asked->all.front().fence;
    }
    for (std::size_t i = 0; i < 3; ++i) {
        const auto all = queue_of(w, i, "r");
        REQUIRE(all.size() == 1);
        CHECK(all[0].id == std::string(w.engine->parts().shared.client_id()) + ":1");
        CHECK(all[0].ticket == std::stod(ticket));
    }
    // Also after another try, which has another fence.
    w.nodes[0].remove("r");
    w.nodes[1].remove("r");
    w.nodes[0].put("r", world::elsewhere, w.now + 1s);
    w.nodes[1].put("r", world::elsewhere, w.now + 1h);
    w.nodes[2].put("r", world::elsewhere, w.now + 1s);
    w.nodes[0].seen.clear();
    w.run_for(1500ms);
    REQUIRE(e->is_over());
    CHECK(e->held.fence() > std::stoull(ticket));
    const auto left = queue_of(w, 1, "r");
    REQUIRE(left.size() == 1);
    CHECK(left[0].ticket == std::stod(ticket));
}

TEST_CASE("a key of ours that somebody deletes without a word is found at the next refresh") {
    for (auto when = 0ms; when < 1500ms; when += 50ms) {
        connected_world w(fenced_options_for(3));
        w.take_elsewhere("r", 3);
        const auto e = asleep(w, "r");
        w.run_for(when);
        for (auto& node : w.nodes) node.remove("r");
        CHECK(time_until_over(w, *e) <= refresh + 2 * trip);
        CHECK(e->held);
    }
}

TEST_CASE("no entry stays behind when waiting ends") {
    const std::size_t n = GENERATE(3U, 5U);
    connected_world w(fenced_options_for(n));
    w.take_elsewhere("r", n);
    const auto began = w.now;
    const auto e = asleep(w, "r", {.wait = 2s});
    SECTION("granted and released") {
        const bool is_everywhere = GENERATE(true, false);
        stranger other(w);
        for (std::size_t i = is_everywhere ? 0 : 1; i < n; ++i) other.release(i, "r");
        REQUIRE(w.run_until_over(*e));
        REQUIRE(e->held);
        w.run_for(latency);
        CHECK(queued_in_all(w, "r") == (is_everywhere ? 0 : 1));
        w.release(std::move(e->held));
    }
    SECTION("cancelled") { w.cancel(*e); }
    SECTION("too late") {
        REQUIRE(w.run_until_over(*e));
        CHECK(w.now - began == 2s);
        CHECK(e->outcome() == errc::contended);
    }
    SECTION("closed") {
        w.close();
        CHECK(e->outcome() == errc::client_closed);
    }
    w.run_for(latency);
    CHECK(queued_in_all(w, "r") == 0);
    CHECK(w.ours("r") == 0);
    w.run_for(3s);
    CHECK(queued_in_all(w, "r") == 0);
}

TEST_CASE("few commands keep the entries of all sleeping waiters alive") {
    connected_world w(fenced_options_for(3));
    std::vector<ending_ptr> all;
    for (int i = 0; i < 300; ++i) {
        const auto name = "r" + std::to_string(i);
        w.take_elsewhere(name, 3);
        all.push_back(w.acquire(name, {.wait = 600s}));
    }
    w.run_for(100ms);
    const auto log = log_of(w, 2);
    std::vector<std::pair<time_point, std::size_t>> refreshed;
    for (int i = 0; i < 100; ++i) {
        w.run_for(100ms);
        for (const auto* name : {"r0", "r63", "r64", "r299"}) {
            const auto entries = queue_of(w, 2, name);
            REQUIRE(entries.size() == 1);
            CHECK(entries[0].until_ms > w.nodes[2].wall.ms(w.now) + (i < 20 ? 850 : 1200));
            CHECK(entries[0].until_ms <= w.nodes[2].wall.ms(w.now) + 2000);
        }
    }
    for (const auto& l : *log) {
        CHECK_FALSE(is_call(l.what, ask::acquire));
        CHECK_FALSE(is_call(l.what, ask::release));
        if (is_call(l.what, resp::wait())) {
            refreshed.emplace_back(l.when, std::stoul(l.what[2]) / 2);
        }
    }
    // 10 s of rounds, of five batches each.
    CHECK(refreshed.size() >= 13 * 5 - 5);
    CHECK(refreshed.size() <= 16 * 5 + 5);
    std::optional<time_point> last;
    for (const auto& [when, size] : refreshed) {
        CHECK(size <= 64);
        if (last) CHECK(when - *last >= 20ms);
        last = when;
    }
}

TEST_CASE("however long nodes were away, a waiter sleeps again in its place and keeps no turn") {
    const auto away = GENERATE(mode::mute, mode::refuses);
    for (duration how_long = 0ms; how_long < 1s; how_long += 5ms) {
        INFO("for " << how_long / 1ms << " ms");
        connected_world w(fenced_options_for(3));
        w.take_elsewhere("r", 3);
        const auto e = asleep(w, "r", {.wait = 60s});
        w.run_for(600ms);  // before the next refresh
        w.set_mode(0, away);
        w.set_mode(1, away);
        w.run_for(how_long);
        w.set_mode(0, mode::up);
        w.run_for(3s);
        CHECK_FALSE(e->is_over());
        REQUIRE(w.engine->parts().local.resting() == 0);
        // Else nobody would wake it.
        REQUIRE(queue_of(w, 0, "r").size() == 1);
        REQUIRE(queue_of(w, 2, "r").size() == 1);
    }
}

TEST_CASE("waiters for keys whose fence is foreign data keep no other waiter from its turn") {
    connected_world w(fenced_options_for(3));
    std::vector<ending_ptr> all;
    for (std::size_t i = 0; i < 2 * core::local_queues::most_turns; ++i) {
        const auto name = "r" + std::to_string(i);
        for (auto& node : w.nodes) {
            node.put(w.options.key_prefix + "{" + name + "}:fence", "none", w.now + 1h);
        }
        all.push_back(w.acquire(name, {.wait = 60s}));
    }
    w.run_for(1s);
    const auto e = w.acquire("free", {.wait = 1s});
    CHECK(time_until_over(w, *e) <= 20ms);
    CHECK(e->held);
}

TEST_CASE("a waiter that gets no turn in its time ends with no_quorum and backlog votes") {
    connected_world w(fenced_options_for(3));
    for (std::size_t i = 0; i < 3; ++i) w.set_mode(i, mode::mute);
    std::vector<ending_ptr> all;
    for (std::size_t i = 0; i < core::local_queues::most_turns; ++i) {
        all.push_back(w.acquire("r" + std::to_string(i), {.wait = 60s}));
    }
    const auto e = w.acquire("late", {.wait = 20ms});
    CHECK(time_until_over(w, *e) == 50ms);  // the time that one try may take
    CHECK(e->outcome() == errc::no_quorum);
    CHECK(e->held.votes()[1].error == errc::backlog);
}

TEST_CASE("however many others got theirs, a key that is deleted early is found as soon") {
    connected_world w(fenced_options_for(3));
    std::vector<ending_ptr> all;
    for (int i = 0; i < 1'000; ++i) {
        const auto name = "r" + std::to_string(i);
        w.take_elsewhere(name, 3);
        all.push_back(w.acquire(name, {.wait = 600s}));
    }
    w.run_for(3s);
    for (int i = 0; i < 1'000; ++i) {
        for (auto& node : w.nodes) node.remove("r" + std::to_string(i));
    }
    w.run_for(refresh + 20ms);
    for (const auto& e : all) REQUIRE(e->is_over());
}

TEST_CASE("a client that waits for thousands of resources asks for few of them at a time") {
    constexpr std::size_t resources = 3'000;
    connected_world w(fenced_options_for(3));
    const auto log = log_of(w, 2);
    std::vector<ending_ptr> all;
    for (std::size_t i = 0; i < resources; ++i) {
        w.take_elsewhere("r" + std::to_string(i), 3);
        all.push_back(w.acquire("r" + std::to_string(i), {.wait = 600s}));
    }
    w.run_for(100ms);
    std::map<time_point, std::size_t> asked;
    for (const auto& l : *log) asked[l.when] += is_call(l.what, ask::acquire) ? 1 : 0;
    std::size_t sum = 0;
    for (const auto& [when, many] : asked) {
        CHECK(many <= core::local_queues::most_turns);  // they all are answered at once, too
        sum += many;
    }
    CHECK(sum == resources);
    CHECK(w.engine->stats().retries == 0);
    for (const auto& e : all) w.cancel(*e);
}

TEST_CASE("thousands that can reach no quorum try some 5,000 times a second, and recover") {
    constexpr std::size_t resources = 5'000;
    connected_world w(fenced_options_for(3));
    w.set_mode(0, mode::refuses);
    w.set_mode(1, mode::refuses);
    std::vector<ending_ptr> all;
    for (std::size_t i = 0; i < resources; ++i) {
        all.push_back(w.acquire("r" + std::to_string(i), {.wait = 600s}));
    }
    w.run_for(5s);
    CHECK(calls_of(w, ask::acquire, 2) < 5 * 6'000);
    w.set_mode(0, mode::up);
    w.run_for(5s);
    for (const auto& e : all) {
        REQUIRE(e->is_over());
        CHECK(e->held);
    }
}

TEST_CASE("the nodes are listened to for half a minute after the last waiter") {
    connected_world w(fenced_options_for(3));
    stranger ear(w);
    const auto listening = [&] {
        std::int64_t n = 0;
        for (std::size_t i = 0; i < 3; ++i)
            n += ear.audience(i, w.engine->parts().shared.client_id());
        return n;
    };
    CHECK(listening() == 0);
    w.take_elsewhere("r", 3);
    const auto first = asleep(w, "r", {.wait = 100s});
    CHECK(listening() == 3);
    w.run_for(80s);
    CHECK(listening() == 3);
    w.cancel(*first);
    w.run_for(29s);
    CHECK(listening() == 3);
    CHECK(w.count_sent("SUBSCRIBE") == 3);
    w.run_for(2s);
    CHECK(listening() == 0);
    const auto asked = calls_in_all(w, resp::wait());
    w.run_for(60s);
    CHECK(calls_in_all(w, resp::wait()) == asked);
    const auto second = asleep(w, "r");
    CHECK(listening() == 3);
    stranger(w).release_all("r");
    CHECK(time_until_over(w, *second) == latency + trip);
    w.close();
    w.run_for(1ms);
    CHECK(listening() == 0);
}

TEST_CASE("waiters that fall asleep do not put off the refresh of other entries") {
    connected_world w(fenced_options_for(3));
    w.take_elsewhere("r", 3);
    const auto e = asleep(w, "r", {.wait = 60s});
    std::vector<ending_ptr> others;
    for (int i = 0; i < 40; ++i) {
        const auto name = "s" + std::to_string(i);
        w.take_elsewhere(name, 3);
        others.push_back(w.acquire(name, {.wait = 60s}));
        w.run_for(100ms);
        const auto entries = queue_of(w, 0, "r");
        REQUIRE(entries.size() == 1);
        CHECK(entries[0].until_ms > w.nodes[0].wall.ms(w.now) + 1200);
    }
    CHECK_FALSE(e->is_over());
}

TEST_CASE("a waiter does not try again as long as the holder elsewhere renews") {
    connected_world w(fenced_options_for(3));
    w.take_elsewhere("r", 3, 6s);
    const auto e = w.acquire("r", {.wait = 600s});
    for (int i = 0; i < 30; ++i) {
        w.run_for(2s);
        w.take_elsewhere("r", 3, 6s);
    }
    CHECK_FALSE(e->is_over());
    for (std::size_t i = 0; i < 3; ++i) CHECK(calls_of(w, ask::acquire, i) == 1);
}

TEST_CASE("where no quorum can answer a waiter tries at most every few milliseconds") {
    connected_world w(fenced_options_for(3));
    w.set_mode(0, mode::mute);
    w.set_mode(1, mode::refuses);
    const auto e = w.acquire("r", {.wait = 60s});
    w.run_for(10s);
    CHECK_FALSE(e->is_over());
    // Each try takes its 50 ms, and rests for 50 on average.
    CHECK(calls_of(w, ask::acquire, 2) < 200);
    w.set_mode(1, mode::up);
    CHECK(time_until_over(w, *e) < 2s);
    CHECK(e->held);
}

TEST_CASE("so many sleepers are queried less often, and are believed alive for as much longer") {
    connected_world w(fenced_options_for(1));
    std::vector<ending_ptr> all;
    constexpr std::size_t crowd = 2'300;  // 36 batches
    for (std::size_t i = 0; i < crowd; ++i) {
        const auto name = "r" + std::to_string(i);
        w.take_elsewhere(name, 1);
        all.push_back(w.acquire(name, {.wait = 600s}));
    }
    w.run_for(5s);
    const auto log = log_of(w, 0);
    w.run_for(2s);
    std::size_t questions = 0;
    std::optional<time_point> last;
    for (const auto& l : *log) {
        if (!is_call(l.what, resp::wait())) continue;
        ++questions;
        CHECK(std::stoul(l.what[2]) / 2 <= 64);
        if (last) CHECK(l.when - *last >= 20ms);
        last = l.when;
    }
    CHECK(questions >= 95);
    std::size_t alive = 0;
    for (std::size_t i = 0; i < crowd; i += 100) {
        const auto entries = queue_of(w, 0, "r" + std::to_string(i));
        alive += entries.size() == 1 && entries[0].until_ms > w.nodes[0].wall.ms(w.now) ? 1 : 0;
    }
    CHECK(alive == crowd / 100);
    w.close();
}

TEST_CASE("no node is sent a wait for a key without a name, also after its scripts were flushed") {
    connected_world w(fenced_options_for(3));
    w.take_elsewhere("r", 3);
    w.take_elsewhere("s", 3);
    const auto e = asleep(w, "r");
    const auto other = asleep(w, "s");
    stranger holder(w);
    // The far node has lost its scripts when the next question about both comes.
    w.latency[0] = 20ms;
    w.nodes[0].flush_scripts();
    w.nodes[0].seen.clear();
    const auto asked = calls_of(w, resp::wait(), 1);
    while (calls_of(w, resp::wait(), 1) == asked) REQUIRE(w.turn());
    holder.release_all("r");
    REQUIRE(w.run_until_over(*e));
    REQUIRE(e->held);
    w.release(std::move(e->held));
    w.run_for(100ms);
    std::size_t repeated = 0;
    for (const auto& c : w.nodes[0].seen) {
        if (c.size() < 4 || c[1] != resp::wait().text) continue;
        ++repeated;
        for (std::size_t i = 0; i < std::stoul(c[2]); ++i) {
            CHECK_FALSE(c[3 + i].empty());
            CHECK(c[3 + i] != wire::queue_key("", ""));
        }
    }
    CHECK(repeated >= 1);
    CHECK_FALSE(other->is_over());
}

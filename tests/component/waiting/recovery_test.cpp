// Tests what becomes of waiters when nodes and connections fail; knows no socket.
// SPDX-License-Identifier: MIT
#include "component/support/waiting.hpp"
#include "support/catch.hpp"
#include "wire/resp/command.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::fakes;
using namespace std::chrono_literals;

TEST_CASE("a minority of nodes that fail costs a waiter nothing") {
    const int fault = GENERATE(0, 1, 2, 3, 4);
    const bool is_late = GENERATE(true, false);
    connected_world w(fenced_options_for(3));
    w.take_elsewhere("r", 3);
    ending_ptr e;
    if (is_late) e = asleep(w, "r");
    if (fault == 0) w.set_mode(0, mode::mute);
    if (fault == 1) w.set_mode(0, mode::refuses);
    if (fault == 2) w.nodes[0].forbid("SUBSCRIBE");
    if (fault == 3) w.nodes[0].forbid("PUBLISH");
    if (fault == 4) w.nodes[0].forbid("ZADD");
    if (!e) e = w.acquire("r", {.wait = 60s});
    INFO("fault " << fault << (is_late ? ", while it slept" : ", before it began"));
    w.run_for(5s);
    CHECK_FALSE(e->is_over());
    CHECK(calls_of(w, ask::acquire, 1) == 1);
    stranger(w).release_all("r");
    CHECK(time_until_over(w, *e) <= latency + trip);
    CHECK(e->held);
}

TEST_CASE("scripts that are flushed at any moment cost a waiter at most a refresh") {
    const std::size_t later = GENERATE(0U, 1U, 3U);
    std::size_t slow = 0;
    at_every_turn(1s, [&](world& w, fakes::ending& e) {
        for (auto& node : w.nodes) node.flush_scripts();
        for (std::size_t i = 0; i < later; ++i) w.turn();
        stranger(w).release_all("r");
        const auto took = time_until_over(w, e);
        slow += took > 8 * trip ? 1U : 0U;
        CHECK(took <= refresh + 4 * trip);
        REQUIRE(e.held);
        for (auto& node : w.nodes) node.flush_scripts();
        w.release(std::move(e.held));
        w.run_for(5 * trip);
        CHECK(w.ours("r") == 0);
        CHECK(queued_in_all(w, "r") == 0);
    });
    CHECK(slow == 0);
}

TEST_CASE("a client that ends at any moment tells each waiter once, or not at all") {
    const bool is_closed = GENERATE(true, false);
    for (std::size_t k = 0;; ++k) {
        connected_world w(fenced_options_for(3));
        w.take_elsewhere("r", 3);
        const auto began = w.now;
        w.after(300ms, [&] { stranger(w).release_all("r"); });
        std::vector<ending_ptr> all;
        for (int i = 0; i < 3; ++i) all.push_back(w.acquire("r", {.wait = 2s}));
        const auto other = w.acquire("s", {.wait = 2s});
        all.push_back(other);
        for (std::size_t i = 0; i < k; ++i) w.turn();
        if (w.now - began > 1s) {
            CHECK(k > 20);
            break;
        }
        if (is_closed) {
            w.close();
            for (const auto& e : all) CHECK(e->outcomes.size() == 1);
            w.run_for(10 * trip);
            CHECK(w.ours("r") == 0);
            CHECK(w.ours("s") == 0);
            CHECK(queued_in_all(w, "r") == 0);
            w.run_for(3s);
            for (const auto& e : all) CHECK(e->outcomes.size() == 1);
        } else {
            std::vector<std::size_t> before;
            for (const auto& e : all) before.push_back(e->outcomes.size());
            w.discard();
            for (std::size_t i = 0; i < all.size(); ++i) {
                CHECK(all[i]->outcomes.size() == before[i]);
                CHECK(all[i]->discards == (before[i] == 0 ? 1 : 0));
            }
        }
    }
}

TEST_CASE("connections that break at any moment cost what it takes to make them again") {
    const std::size_t later = GENERATE(0U, 1U, 4U);
    at_every_turn(2s, [&](world& w, fakes::ending& e) {
        for (std::size_t i = 0; i < 3; ++i) w.cut(i);
        for (std::size_t i = 0; i < later; ++i) w.turn();
        stranger(w).release_all("r");
        const auto took = time_until_over(w, e);
        CHECK(took <= 10ms);
        REQUIRE(e.held);
        w.run_for(20ms);
        // A node that did not have the answer in time may keep the entry until then.
        w.release(std::move(e.held));
        w.run_for(20ms);
        CHECK(w.ours("r") == 0);
        CHECK(queued_in_all(w, "r") == 0);
    });
}

TEST_CASE("whenever connections break, and break again, a waiter has its place afterwards") {
    const std::size_t later = GENERATE(range(0U, 24U, 3U));
    at_every_turn(2s, [&](world& w, fakes::ending& e) {
        for (std::size_t i = 0; i < 3; ++i) w.cut(i);
        for (std::size_t i = 0; i < later; ++i) w.turn();
        for (std::size_t i = 0; i < 3; ++i) w.cut(i);
        w.run_for(3s);
        CHECK_FALSE(e.is_over());
        check_place_on_all(w, "r");
    });
}

TEST_CASE("whatever happened, waiters have a free resource within seconds, and leave nothing") {
    const std::uint64_t seed = GENERATE(range(1, 61));
    dice draw(seed);
    INFO("seed " << seed);
    const std::size_t n = draw(2) == 0 ? 3 : 5;
    connected_world w(fenced_options_for(n));
    stranger other(w);
    other.listen();
    const std::string names[] = {"a", "b"};
    for (const auto& name : names) w.take_elsewhere(name, n);
    std::vector<ending_ptr> all;
    for (int i = 0; i < 60; ++i) {
        const auto& name = names[draw(2)];
        const std::size_t node = draw(n);
        switch (draw(14)) {
            case 0:
            case 1:
            case 2: all.push_back(w.acquire(name, {.wait = 1ms * (1 + draw(4000))})); break;
            case 3:
                if (!all.empty()) w.cancel(*all[draw(all.size())]);
                break;
            case 4: other.release(node, name); break;
            case 5: other.release_all(name); break;
            case 6:
                if (w.ours(name) == 0) w.take_elsewhere(name, n, 1ms * (1 + draw(3000)));
                break;
            case 7: w.cut_subscription(node); break;
            case 8: w.cut(node); break;
            case 9: w.nodes[node].flush_scripts(); break;
            case 10: w.set_mode(0, mode::mute); break;
            case 11: w.set_mode(0, mode::up); break;
            case 12: other.enter(node, name, draw(2) == 0 ? 1 : 8'000'000'000'000'000); break;
            default:
                for (const auto& e : all) e->held = {};
                break;
        }
        if (draw(3) == 0) {
            w.run_for(1ms * draw(900));
        } else {
            for (std::uint64_t k = draw(12); k != 0; --k) w.turn();
        }
    }
    w.set_mode(0, mode::up);
    for (const auto& name : names) {
        w.take_elsewhere(name, n);  // from its holder, if any
        const auto last = w.acquire(name, {.wait = 60s});
        w.run_for(50ms);
        // Nobody tells of it.
        for (auto& node : w.nodes) {
            const auto keys = node.keys(w.now);
            const auto at = keys.find(name);
            if (at != keys.end() && at->second.value == world::elsewhere) node.remove(name);
        }
        const auto began = w.now;
        while (!last->is_over() && w.now - began < 30s) {
            for (const auto& e : all) e->held = {};
            w.run_for(1ms);
        }
        INFO(name << " took " << (w.now - began) / 1ms << " ms");
        CHECK(last->held);
        // Those before it, the dead with their two seconds, and wake-ups that were lost.
        CHECK(w.now - began <= 4s);
        w.release(std::move(last->held));
    }
    for (const auto& e : all) {
        w.cancel(*e);
        CHECK(e->outcomes.size() == 1);
        e->held = {};
    }
    w.run_for(5s);
    for (const auto& name : names) {
        CHECK(w.ours(name) == 0);
        CHECK(queued_in_all(w, name) == 0);
    }
    CHECK(w.engine->stats().leases == 0);
}

TEST_CASE("whatever faults the nodes had, a waiter has its place once they are back") {
    const std::uint64_t seed = GENERATE(range(1, 151));
    dice draw(seed);
    INFO("seed " << seed);
    const std::size_t n = 1 + draw(5);
    auto options = fenced_options_for(n);
    options.ttl_max = 5s;
    connected_world w(options);
    if (draw(2) == 0) w.run_for(1s);  // a connection that breaks is made again at once
    constexpr auto slowest = 10 * latency;
    for (auto& one_way : w.latency) {
        if (draw(3) == 0) one_way = slowest;
    }
    w.take_elsewhere("r", n);
    const auto e = w.acquire("r", {.wait = 60s});
    for (int i = 0; i < 30; ++i) {
        const std::size_t node = draw(n);
        switch (draw(8)) {
            case 0: w.cut_subscription(node); break;
            case 1: w.cut(node); break;
            case 2: w.nodes[node].flush_scripts(); break;
            case 3: w.set_mode(node, mode::mute); break;
            case 4: w.set_mode(node, mode::refuses); break;
            case 5: w.step_clock(node, 100ms); break;
            default: w.set_mode(node, mode::up); break;
        }
        if (draw(2) == 0) {
            w.run_for(1ms * draw(200));
        } else {
            for (std::uint64_t k = draw(14); k != 0; --k) w.turn();
        }
    }
    for (std::size_t i = 0; i < n; ++i) w.set_mode(i, mode::up);
    // A jump of a clock is seen within 5 s, and has the node without a vote for ttl_max.
    const auto sent = sent_in_all(w);
    w.run_for(5s + options.ttl_max + 2s);
    REQUIRE_FALSE(e->is_over());
    CHECK(sent_in_all(w) - sent <= 100 * n);  // 19 refreshes, and some tries with their releases
    CHECK(w.engine->parts().local.resting() == 0);
    check_place_on_all(w, "r");
    stranger(w).release_all("r");
    CHECK(time_until_over(w, *e) <= 3 * 2 * slowest);
    CHECK(e->held);
}

// Else two could each be first on some nodes, and neither ever get a quorum.
TEST_CASE("where it is not listened to a waiter stands at its ticket all the same") {
    world w(fenced_options_for(3));
    w.nodes[1].forbid("SUBSCRIBE");
    w.connected();
    w.set_mode(2, mode::refuses);
    w.run_for(1s);
    w.take_elsewhere("r", 2, 3s);
    const auto until = w.now + 3s;
    const auto e = w.acquire("r", {.wait = 60s});
    w.run_for(10ms);
    stranger later(w);
    for (int i = 0; i < 29; ++i) {
        for (const std::size_t node : {0U, 1U}) {
            later.enter(node, "r", std::uint64_t{1} << 52);  // after everybody
        }
        w.run_for(100ms);
    }
    REQUIRE(w.run_until_over(*e));
    CHECK_FALSE(e->outcome());
    CHECK(w.now - until <= 50ms);
}

// Others may reach one, and would wait for it in vain.
TEST_CASE("a waiter that reaches no quorum is in no queue, and comes back at its ticket") {
    connected_world w(fenced_options_for(3));
    w.take_elsewhere("r", 3);
    const auto e = w.acquire("r", {.wait = 60s});
    w.run_for(10ms);
    REQUIRE(queued_in_all(w, "r") == 3);
    const auto ticket = queue_of(w, 0, "r")[0].ticket;
    w.set_mode(1, mode::refuses);
    w.set_mode(2, mode::refuses);
    w.nodes[0].remove("r");
    w.run_for(1s);
    CHECK(queue_of(w, 0, "r").empty());
    CHECK_FALSE(e->is_over());
    w.take_elsewhere("r", 3);
    w.set_mode(1, mode::up);
    w.set_mode(2, mode::up);
    w.run_for(2s);
    const auto again = queue_of(w, 0, "r");
    REQUIRE(again.size() == 1);
    CHECK(again[0].ticket == ticket);
}

TEST_CASE("a waiter that began while no node was reachable gets a time as its ticket") {
    auto options = fenced_options_for(3);
    options.guard = restart_guard::off;
    world w(options);
    for (std::size_t i = 0; i < 3; ++i) w.modes[i] = mode::refuses;
    w.start();
    const auto e = w.acquire("r", {.wait = 60s});
    w.run_for(2s);
    w.take_elsewhere("r", 3);
    for (std::size_t i = 0; i < 3; ++i) w.set_mode(i, mode::up);
    bool was_entered = false;
    for (int i = 0; i < 2000; ++i) {
        w.run_for(1ms);
        for (const auto& entry : queue_of(w, 0, "r")) {
            was_entered = true;
            CHECK(entry.ticket > 1'600'000'000'000'000);
        }
    }
    CHECK(was_entered);
}

TEST_CASE("a waiter that began while no node was reachable has its place once they answer") {
    const std::size_t n = GENERATE(1U, 3U);
    std::string records[3];
    {
        connected_world before(fenced_options_for(n));
        for (std::size_t i = 0; i < n; ++i) {
            records[i] = before.nodes[i].all_keys(before.now).at("redlock:node").value;
        }
    }
    // Among these are those where the answers to a question were there before another try.
    for (auto away = 995ms; away < 1060ms; away += 1ms) {
        INFO(n << " nodes, mute for " << away / 1ms << " ms");
        world w(fenced_options_for(n));
        for (std::size_t i = 0; i < n; ++i) {
            w.nodes[i].put("redlock:node", records[i], time_point::max());
            w.modes[i] = mode::mute;
        }
        w.start();
        w.take_elsewhere("r", n);
        const auto e = w.acquire("r", {.wait = 60s});
        w.run_for(away);
        for (std::size_t i = 0; i < n; ++i) w.set_mode(i, mode::up);
        w.run_for(3s);
        REQUIRE_FALSE(e->is_over());
        REQUIRE(queued_in_all(w, "r") == n);
        stranger(w).release_all("r");
        CHECK(time_until_over(w, *e) == latency + trip);
    }
}

TEST_CASE("a waiter stands in no queue while it knows that a quorum has no vote") {
    const bool runs_out = GENERATE(true, false);
    connected_world w(fenced_options_for(3));
    w.run_for(1s);
    w.take_elsewhere("r", 3, runs_out ? 8s : 1h);
    const auto e = w.acquire("r", {.wait = 60s});
    w.run_for(20ms);
    REQUIRE(queued_in_all(w, "r") == 3);
    w.step_clock(0, 100ms);
    w.step_clock(1, -100ms);
    w.run_for(8s);
    for (auto& node : w.nodes) node.remove("r");
    w.run_for(1s);
    for (int i = 0; i < 100; ++i) {
        w.run_for(100ms);
        REQUIRE_FALSE(e->is_over());  // two of three may not vote for ttl_max
        REQUIRE(queued_in_all(w, "r") == 0);
    }
}

TEST_CASE("half of the nodes are no quorum that gives a place back") {
    connected_world w(fenced_options_for(4));
    w.take_elsewhere("r", 4);
    w.set_mode(0, mode::refuses);
    w.set_mode(1, mode::refuses);
    const auto e = w.acquire("r", {.wait = 60s});
    w.run_for(5s);
    CHECK(queued_in_all(w, "r") == 0);
    w.set_mode(0, mode::up);
    w.run_for(3s);
    CHECK(queued_in_all(w, "r") == 3);
}

TEST_CASE("a place that a question gave back when the scripts had gone is left, too") {
    for (auto k = 200'000us; k < 320'000us; k += 500us) {
        connected_world w(fenced_options_for(3));
        w.run_for(1s);
        w.latency[2] = 4ms;
        w.take_elsewhere("r", 3);
        const auto e = w.acquire("r", {.wait = 60s});
        w.run_for(600ms);
        REQUIRE(queued_in_all(w, "r") == 3);
        w.set_mode(0, mode::mute);
        w.set_mode(1, mode::mute);
        w.nodes[2].remove("r");
        w.run_for(k);
        w.nodes[2].flush_scripts();
        w.set_mode(0, mode::up);
        w.set_mode(1, mode::up);
        w.run_for(14ms);
        w.cancel(*e);
        w.run_for(40ms);
        INFO("after " << k / 1us << " us");
        CHECK(queued_in_all(w, "r") == 0);
    }
}

TEST_CASE("a waiter stands in no queue while errors of nodes leave no quorum") {
    connected_world w(fenced_options_for(3));
    w.take_elsewhere("r", 3);
    const auto e = asleep(w, "r", {.wait = 60s});
    for (const std::size_t i : {0U, 1U}) {
        w.nodes[i].instead = [](const fakes::command& c) -> std::optional<std::string> {
            if (c[0] != "EVALSHA") return std::nullopt;
            return "-BUSY Redis is busy running a script\r\n";
        };
    }
    for (auto& node : w.nodes) node.remove("r");
    w.run_for(refresh + 20ms);
    for (int i = 0; i < 100; ++i) {
        w.run_for(50ms);
        REQUIRE(queue_of(w, 2, "r").empty());
    }
    for (const std::size_t i : {0U, 1U}) w.nodes[i].instead = {};
    CHECK(time_until_over(w, *e) <= 2s);
    CHECK(e->held);
}

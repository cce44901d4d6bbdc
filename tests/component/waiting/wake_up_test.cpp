// Tests that a release wakes the head of the queue, and what if it cannot; knows no socket.
// SPDX-License-Identifier: MIT
#include "component/support/waiting.hpp"
#include "support/catch.hpp"
#include "wire/resp/command.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

using namespace redlock;
using namespace redlock::fakes;
using namespace std::chrono_literals;

TEST_CASE("a release by another client is followed by the grant within two round trips") {
    const std::size_t n = GENERATE(1U, 3U, 5U);
    auto o = fenced_options_for(n);
    o.key_prefix = GENERATE("", "app:");
    connected_world w(o);
    w.take_elsewhere(o.key_prefix + "r", n);
    const auto e = asleep(w, "r");
    w.run_for(GENERATE(0ms, 640ms, 5s));
    const auto before = calls_of(w, ask::acquire, 0);
    stranger(w).release_all("r");
    CHECK(time_until_over(w, *e) == latency + trip);
    CHECK(e->held);
    CHECK(calls_of(w, ask::acquire, 0) == before + 1);
}

TEST_CASE("a release at any moment is followed by the grant, and not only by the refresh") {
    const duration apart = GENERATE(0us, 1us, 60us, 150us, 310us);
    at_every_turn(1s, [&](world& w, fakes::ending& e) {
        stranger other(w);
        for (std::size_t i = 0; i < 3; ++i) w.after(i * apart, [&, i] { other.release(i, "r"); });
        // Connecting, greeting, asking, trying.
        CHECK(time_until_over(w, e) <= 2 * apart + 5 * trip);
        CHECK(e.held);
    });
}

TEST_CASE("a subscription that breaks at any moment costs one refresh at most") {
    const std::size_t later = GENERATE(0U, 1U, 2U, 4U);
    at_every_turn(2s, [&](world& w, fakes::ending& e) {
        for (std::size_t i = 0; i < 3; ++i) w.cut_subscription(i);
        for (std::size_t i = 0; i < later; ++i) w.turn();
        stranger(w).release_all("r");
        CHECK(time_until_over(w, e) <= refresh + 4 * trip);
        CHECK(e.held);
    });
}

TEST_CASE("less than a quorum of nodes that are free has a waiter do nothing") {
    connected_world w(fenced_options_for(5));
    w.take_elsewhere("r", 5);
    const auto e = asleep(w, "r");
    stranger other(w);
    const auto before = calls_in_all(w, ask::acquire);
    other.release(1, "r");
    other.release(4, "r");
    w.run_for(5s);
    CHECK(calls_in_all(w, ask::acquire) == before);
    other.release(0, "r");
    CHECK(time_until_over(w, *e) == latency + trip);
    CHECK(e->held);
}

TEST_CASE("nodes that have no vote wake nobody") {
    connected_world w(fenced_options_for(3));
    w.take_elsewhere("r", 3, 8s);
    const auto e = asleep(w, "r", {.wait = 60s});
    const auto& sent = w.nodes[0].seen;
    const auto listening =
        std::ranges::find(sent, "SUBSCRIBE", [](const fakes::command& c) { return c.front(); });
    REQUIRE(listening != sent.end());
    const std::string channel = listening->at(1);
    w.step_clock(0, 100ms);
    w.step_clock(1, -100ms);
    w.run_for(10s);
    REQUIRE_FALSE(e->is_over());  // two of three may not vote for ttl_max
    const auto before = calls_in_all(w, ask::acquire);
    client_state other;
    for (int i = 0; i < 1000; ++i) {
        for (auto& node : w.nodes) node.execute(other, {"PUBLISH", channel, "r"}, w.now);
        w.run_for(1ms);
    }
    CHECK(calls_in_all(w, ask::acquire) - before <= 3 * 100);
}

TEST_CASE("a dead waiter in front costs at most what its entry had left to live") {
    const auto left = GENERATE(2000ms, 700ms, 100ms, 1ms);
    connected_world w(fenced_options_for(3));
    stranger dead(w);
    SECTION("that nobody hears for") {}
    SECTION("that hears, and does nothing") { dead.listen(); }
    dead.enter_all("r", 1, left);
    const auto e = w.acquire("r", {.wait = 60s});
    const auto took = time_until_over(w, *e);
    CHECK(e->held);
    CHECK(took >= left - 1ms);
    CHECK(took <= left + 1ms + 2 * trip);
    CHECK(calls_of(w, ask::acquire, 0) <= 2);
}

TEST_CASE("a dead waiter in front costs nothing where the key is released") {
    connected_world w(fenced_options_for(3));
    w.take_elsewhere("r", 3);
    const auto e = asleep(w, "r");
    stranger dead(w);
    dead.enter_all("r", 1);
    w.run_for(GENERATE(0ms, 1s));
    stranger(w, "holder").release_all("r");
    CHECK(time_until_over(w, *e) == latency + trip);
    CHECK(e->held);
}

TEST_CASE("a waiter in front that hears and does nothing costs what its entry had left") {
    connected_world w(fenced_options_for(3));
    w.take_elsewhere("r", 3);
    const auto e = asleep(w, "r");
    stranger stuck(w);
    stuck.listen();
    stuck.enter_all("r", 1);
    w.run_for(GENERATE(0ms, 500ms, 1900ms));
    const auto left = queue_of(w, 0, "r").at(0).until_ms - w.nodes[0].wall.ms(w.now);
    stranger(w, "holder").release_all("r");
    const auto took = time_until_over(w, *e);
    CHECK(e->held);
    CHECK(took >= (left - 1) * 1ms);
    // Nobody tells us that it is our turn: a refresh does.
    CHECK(took <= std::max<duration>((left + 2) * 1ms, refresh) + 2 * trip);
}

TEST_CASE("a waiter that leaves after its wake-up has the next one woken") {
    const bool by_deadline = GENERATE(true, false);
    std::size_t granted = 0;
    for (auto at = 0us; at <= 1000us; at += 25us) {
        connected_world w(fenced_options_for(3));
        w.take_elsewhere("r", 3);
        const auto deadline = w.now + 300ms;
        const auto e = asleep(w, "r", {.wait = by_deadline ? 300ms : 60'000ms});
        stranger next(w);
        next.listen();
        next.enter_all("r", 8'000'000'000'000'000);
        w.run_for(by_deadline ? deadline - at - w.now : 100ms);
        stranger(w, "holder").release_all("r");
        CHECK(next.nodes_heard() == 0);
        if (by_deadline) {
            REQUIRE(w.run_until_over(*e));
            CHECK(w.now <= deadline);
        } else {
            w.run_for(at);
            w.cancel(*e);
        }
        INFO("at " << at / 1us << " us");
        CHECK(e->outcomes.size() == 1);
        w.run_for(2 * trip);
        if (e->held) {
            ++granted;
            CHECK(next.nodes_heard() == 0);
            w.release(std::move(e->held));
            w.run_for(trip);
        }
        CHECK(next.nodes_heard() == 3);
        CHECK(w.ours("r") == 0);
        CHECK(queued_in_all(w, "r") == 3);
    }
    CHECK(granted > 0);
    CHECK(granted < 41);
}

TEST_CASE("where no node lets a waiter be woken it finds out at the next refresh") {
    const std::string what = GENERATE("SUBSCRIBE", "PUBLISH", "ZADD");
    for (auto when = 0ms; when < 800ms; when += 100ms) {
        connected_world w(fenced_options_for(3));
        for (auto& node : w.nodes) node.forbid(what);
        w.take_elsewhere("r", 3);
        const auto e = w.acquire("r", {.wait = 60s});
        w.run_for(20ms + when);
        CHECK(calls_of(w, ask::acquire, 0) == 1);
        stranger(w).release_all("r");
        INFO(what);
        CHECK(time_until_over(w, *e) <= refresh + 2 * trip);
        CHECK(e->held);
    }
}

TEST_CASE("a subscription to one node that breaks at any moment costs nothing") {
    const std::size_t later = GENERATE(0U, 1U, 2U, 4U);
    at_every_turn(2s, [&](world& w, fakes::ending& e) {
        w.cut_subscription(1);
        for (std::size_t i = 0; i < later; ++i) w.turn();
        stranger(w).release_all("r");
        CHECK(time_until_over(w, e) <= 5 * trip);
        CHECK(e.held);
    });
}

TEST_CASE("one that begins while the subscriptions are made is woken by a release at any moment") {
    // Another waiter has the client listen: subscriptions are made while this one tries.
    const duration released = GENERATE(150us, 250us, 1000us, 100'000us, 500'000us);
    for (std::size_t ahead = 0; ahead < 12; ++ahead) {
        connected_world w(fenced_options_for(3));
        w.take_elsewhere("r", 3);
        w.take_elsewhere("s", 3);
        const auto first = w.acquire("s", {.wait = 60s});
        for (std::size_t i = 0; i < ahead; ++i) w.turn();
        const auto e = w.acquire("r", {.wait = 60s});
        w.run_for(released);
        stranger(w).release_all("r");
        INFO("begun after " << ahead << " turns, released after " << released / 1us << " us");
        CHECK(time_until_over(w, *e) <= 5 * trip);
        CHECK(e->held);
    }
}

TEST_CASE("one that begins while the subscriptions are made waits for a refresh at most") {
    for (std::size_t ahead = 0; ahead < 12; ++ahead) {
        for (std::size_t k = 0; k < 40; ++k) {
            connected_world w(fenced_options_for(3));
            w.take_elsewhere("r", 3);
            w.take_elsewhere("s", 3);
            const auto first = w.acquire("s", {.wait = 60s});
            for (std::size_t i = 0; i < ahead; ++i) w.turn();
            const auto e = w.acquire("r", {.wait = 60s});
            for (std::size_t i = 0; i < k; ++i) w.turn();
            stranger(w).release_all("r");
            INFO("begun after " << ahead << " turns, released after " << k << " more");
            CHECK(time_until_over(w, *e) <= refresh + 2 * trip);
            CHECK(e->held);
        }
    }
}

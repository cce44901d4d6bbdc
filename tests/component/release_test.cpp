// Tests giving a lease back: on every node, also those that come back later; knows no socket.
// SPDX-License-Identifier: MIT
#include "client/release.hpp"
#include "component/support/world.hpp"
#include "support/catch.hpp"

#include <utility>

using namespace redlock;
using namespace std::chrono_literals;
using fakes::connected_world;
using fakes::mode;
using fakes::world;

TEST_CASE("a release deletes the key everywhere and says so") {
    connected_world w(5);
    auto e = w.granted("r");
    w.run_for(1ms);
    const auto released = w.release(std::move(e->held));
    w.run_until_over(*released);
    CHECK(released->outcomes == std::vector<error_code>{error_code()});
    w.run_for(1ms);
    CHECK(w.ours("r") == 0);
    CHECK(w.engine->stats().leases == 0);
    CHECK(w.count_sent("EVALSHA") == 5);
}

TEST_CASE("a release reports the quorum's answer, or how the lease had ended before") {
    connected_world w;
    auto e = w.granted("r", {.ttl = 2s, .renew = false});
    w.run_for(1ms);
    fakes::ending_ptr released;
    error_code expected;
    SECTION("a minority lost the key") { w.nodes[0].lose_everything(); }
    SECTION("a quorum lost the key") {
        w.nodes[0].remove("r");
        w.nodes[1].remove("r");
        expected = errc::not_held;
    }
    SECTION("a quorum holds somebody else's") {
        w.take_elsewhere("r", 2);
        expected = errc::not_held;
    }
    SECTION("a minority is mute") { w.set_mode(0, mode::mute); }
    SECTION("a quorum is mute") {
        w.set_mode(0, mode::mute);
        w.set_mode(1, mode::mute);
        expected = errc::no_quorum;
    }
    SECTION("a quorum is down") {
        w.set_mode(0, mode::refuses);
        w.set_mode(1, mode::refuses);
        expected = errc::no_quorum;
    }
    SECTION("it was lost before") {
        auto state = state_of(e->held);
        w.run_for(2s);
        released = w.release(detail::access::lease_of(std::move(state)));
        expected = errc::lost;
    }
    SECTION("it was detached before") {
        auto state = state_of(e->held);
        e->held.detach();
        w.run_for(1ms);
        released = w.release(detail::access::lease_of(std::move(state)));
        expected = errc::not_held;
    }
    SECTION("it is empty") {
        released = w.release(lease());
        expected = errc::invalid_argument;
    }
    if (!released) released = w.release(std::move(e->held));
    w.run_until_over(*released);
    CHECK(released->outcomes == std::vector<error_code>{expected});
}

TEST_CASE("a release succeeds while any minority is dead, whichever granted") {
    world w(5);
    w.modes[3] = w.modes[4] = mode::refuses;
    w.connected();
    auto e = w.granted("r", {.ttl = 10s});
    REQUIRE(e->held);
    w.set_mode(3, mode::up);
    w.set_mode(4, mode::up);
    w.run_for(2s);
    REQUIRE(w.engine->node(3).is_ready());
    REQUIRE(w.engine->node(4).is_ready());
    w.set_mode(0, mode::refuses);
    w.run_for(1ms);
    const auto released = w.release(std::move(e->held));
    w.run_until_over(*released);
    CHECK(released->outcome() == error_code());
}

TEST_CASE("a node that was away is cleaned when it comes back, until the key can't be there") {
    connected_world w(5);
    auto e = w.granted("r", {.ttl = 10s});
    w.run_for(1ms);
    REQUIRE(w.ours("r") == 5);
    SECTION("it was cut off before the release") {
        w.modes[0] = mode::refuses;
        w.cut(0);
        w.run_for(1ms);
        w.release(std::move(e->held));
    }
    SECTION("it was cut off with the release under way") {
        w.set_mode(0, mode::mute);
        w.release(std::move(e->held));
        w.run_for(1ms);
        w.modes[0] = mode::refuses;
        w.cut(0);
    }
    w.run_for(1s);
    CHECK(w.ours("r") == 1);
    CHECK(w.engine->stats().owed_releases >= 1);
    CHECK(w.count(event_kind::release_owed) >= 1);
    w.set_mode(0, mode::up);
    w.run_for(1100ms);
    CHECK(w.ours("r") == 0);
}

TEST_CASE("a node that stands still is cleaned when it goes on") {
    connected_world w;
    auto e = w.granted("r", {.ttl = 30s});
    w.run_for(1ms);
    w.set_mode(0, mode::mute);
    w.release(std::move(e->held));
    w.run_for(5s);
    CHECK(w.ours("r") == 1);
    w.set_mode(0, mode::up);
    w.run_for(2s);
    CHECK(w.ours("r") == 0);
}

TEST_CASE("a release finds the scripts again where they were flushed") {
    connected_world w;
    auto e = w.granted("r");
    w.run_for(1ms);
    for (auto& n : w.nodes) n.flush_scripts();
    const auto released = w.release(std::move(e->held));
    w.run_for(5ms);
    CHECK(released->outcome() == error_code());
    CHECK(w.ours("r") == 0);
}

TEST_CASE("a release that is called off goes on in the background") {
    for (std::size_t k = 0; k < 10; ++k) {
        connected_world w;
        auto e = w.granted("r");
        w.run_for(1ms);
        const auto released = w.release(std::move(e->held));
        for (std::size_t i = 0; i < k && !released->is_over(); ++i) w.turn();
        w.cancel(*released);
        CHECK(released->outcomes.size() == 1);
        w.run_for(5ms);
        CHECK(w.ours("r") == 0);
    }
}

// The event means that a quorum answered.
TEST_CASE("a release is announced when a quorum answered it, not before") {
    connected_world w;
    auto e = w.granted("r");
    SECTION("and nobody answers") {
        w.set_mode(0, mode::mute);
        w.set_mode(1, mode::mute);
        const auto released = w.release(std::move(e->held));
        w.run_until_over(*released);
        REQUIRE(released->outcome() == errc::no_quorum);
        CHECK(w.count(event_kind::released) == 0);
    }
    SECTION("and all answer") {
        const auto released = w.release(std::move(e->held));
        CHECK(w.count(event_kind::released) == 0);
        w.run_until_over(*released);
        CHECK(w.count(event_kind::released) == 1);
    }
}

TEST_CASE("a release is announced with the time from the grant until it was called") {
    connected_world w;
    auto e = w.granted("r");
    const auto granted_at = w.now;
    w.run_for(3s);
    for (std::size_t i = 0; i < 3; ++i) w.latency[i] = 10ms;
    const auto held_for = w.now - granted_at;
    const auto released = w.release(std::move(e->held));
    w.run_until_over(*released);
    REQUIRE(w.now - granted_at > held_for + 10ms);
    CHECK(w.last_duration(event_kind::released) ==
          std::chrono::duration_cast<std::chrono::microseconds>(held_for));
}

// A SET that waited for its connection leaves late, and its key lives that much longer.
TEST_CASE("a release is owed as long as the key of a SET that left late can be there") {
    world w;
    w.latency = {150ms, 150ms, 150ms};  // greeted after 450 ms
    w.start();
    const auto e = w.acquire("r", {.ttl = 300ms});
    while (w.ours("r") < 3) REQUIRE(w.turn());  // the SETs have just arrived
    w.cancel(*e);
    w.cut(0);
    w.latency = {1ms, 1ms, 1ms};
    while (w.engine->node(0).is_ready()) REQUIRE(w.turn());
    while (!w.engine->node(0).is_ready()) REQUIRE(w.turn());
    const auto left = w.nodes[0].keys(w.now);
    w.run_for(10ms);
    INFO("the key had " << (left.empty() ? 0 : (left.at("r").expires - w.now) / 1ms) << " ms left");
    CHECK(w.nodes[0].keys(w.now).empty());
}

// Tests clients whose nodes, or whose own machine, stand still for a moment; knows no socket.
// SPDX-License-Identifier: MIT
#include "component/support/world.hpp"
#include "support/catch.hpp"

using namespace redlock;
using namespace redlock::fakes;
using namespace std::chrono_literals;

namespace {

// As a client has them that was given no time-out.
client_options measured() {
    auto o = fenced_options_for(3);
    o.node_timeout = client_options{}.node_timeout;
    return o;
}

// The nodes stand still for so long, from now on.
void stall(world& w, std::initializer_list<std::size_t> nodes, duration span) {
    for (const std::size_t i : nodes) {
        w.set_mode(i, mode::mute);
        w.after(span, [&w, i] { w.set_mode(i, mode::up); });
    }
}

// The client's process stands still, and the timer is served before the sockets.
void sleep_past_the_timer(world& w, duration by) {
    w.now = w.engine->deadline() + by;
    w.engine->on_time(w.now);
    w.end_of_turn();
}

}  // namespace

TEST_CASE("a lock is had, renewed and given back while two nodes of three stall for 60 and 180 ms") {
    const auto span = GENERATE(60ms, 180ms, 240ms);
    connected_world w(measured());
    stall(w, {0, 1}, span);
    const auto before = w.now;
    const auto e = w.granted("r");
    CHECK(e->outcome() == error_code());
    CHECK(w.now - before < span + 1ms);
    REQUIRE(e->held);
    stall(w, {1, 2}, span);
    const auto longer = w.extend(e->held, 20s);
    REQUIRE(w.run_until_over(*longer));
    CHECK(longer->outcome() == error_code());
    stall(w, {0, 2}, span);
    const auto done = w.release(std::move(e->held));
    REQUIRE(w.run_until_over(*done));
    CHECK(done->outcome() == error_code());
    CHECK(w.engine->stats().timeouts == 0);
    CHECK(w.engine->stats().disconnects == 0);
}

TEST_CASE("a node that hangs costs nothing, and a quorum that hangs is reported within 1.3 s") {
    const auto way = GENERATE(100us, 40ms, 100ms);
    world w(measured());
    for (auto& l : w.latency) l = way;
    w.connected();
    w.run_for(2s);
    w.set_mode(2, mode::mute);
    auto before = w.now;
    REQUIRE(w.granted("r")->held);
    CHECK(w.now - before == 2 * way);
    w.run_for(100ms);
    w.set_mode(1, mode::mute);
    before = w.now;
    CHECK(w.granted("s")->outcome() == errc::no_quorum);
    CHECK(w.now - before <= 1300ms);
    SECTION("also by a client that has not met it") {
        world other(measured());
        other.set_mode(1, mode::mute);
        other.set_mode(2, mode::mute);
        other.start();
        before = other.now;
        CHECK(other.granted("s")->outcome() == errc::no_quorum);
        CHECK(other.now - before <= 1300ms);
    }
}

TEST_CASE("about a short lease a node has a tenth of the ttl, also behind one about a long lease") {
    connected_world w(measured());
    for (std::size_t i = 0; i < 3; ++i) w.set_mode(i, mode::mute);
    const auto before = w.now;
    const auto is_long = w.acquire("long", {.ttl = 10s});
    const auto is_short = w.acquire("short", {.ttl = 1s});
    const auto waits = w.acquire("waits", {.ttl = 500ms, .wait = 10ms});
    REQUIRE(w.run_until_over(*waits));
    CHECK(w.now - before == 50ms);
    REQUIRE(w.run_until_over(*is_short));
    CHECK(w.now - before == 100ms);
    CHECK_FALSE(is_long->is_over());
    REQUIRE(w.run_until_over(*is_long));
    CHECK(w.now - before == 250ms);
}

TEST_CASE("a renewal of a short lease that was lost is tried again before the lease is") {
    connected_world w(measured());
    const auto e = w.granted("r", {.ttl = 600ms});
    REQUIRE(e->held);
    w.run_for(100ms);
    for (std::size_t i = 0; i < 3; ++i) w.set_mode(i, mode::mute);
    w.after(300ms, [&w] {
        for (std::size_t i = 0; i < 3; ++i) w.set_mode(i, mode::up);
    });
    w.run_for(400ms);
    CHECK(w.count_sent("EVALSHA") >= 9);  // three nodes: the grant, a renewal, another
    w.run_for(1s);
    CHECK(w.engine->stats().lost == 0);
}

TEST_CASE("a holder that slept past the end of its lease prolongs it on no node") {
    connected_world w(measured());
    const auto e = w.granted("r", {.ttl = 1s, .renew = false});
    w.run_for(1ms);
    w.now += 3s;
    const auto longer = w.extend(e->held, 1s);
    CHECK(longer->outcome() == errc::lost);
    w.run_for(10ms);
    CHECK(w.ours("r") == 0);
    CHECK(w.engine->stats().lost == 1);
}

TEST_CASE("a loop that is late by a tenth of a ttl is reported, once a minute") {
    world w(measured());
    w.connected();
    const auto e = w.granted("r", {.ttl = 9s});
    REQUIRE(e->held);
    // The next renewal is due 2.25 to 3 s after each.
    const auto stand_still = [&w](duration span) {
        w.now += span;
        w.engine->on_time(w.now);
        w.end_of_turn();
        w.run_for(5ms);
    };
    w.run_for(2s);
    stand_still(1'100ms);
    CHECK(w.count(event_kind::loop_lag) == 0);
    for (int i = 0; i < 5; ++i) {
        w.run_for(2s);
        stand_still(2s);
        CHECK(w.count(event_kind::loop_lag, severity::warning) == 1);
    }
    w.run_for(1min);
    stand_still(5s);
    CHECK(w.count(event_kind::loop_lag) == 2);
    // With a longer ttl, as the event says, the same lag is no danger.
    e->held = lease();
    const auto longer = w.granted("s", {.ttl = 60s});
    REQUIRE(longer->held);
    w.run_for(2min);
    stand_still(5s);
    CHECK(w.count(event_kind::loop_lag) == 2);
    CHECK(w.engine->stats().lost == 0);
}

TEST_CASE("a client that was not scheduled reads what came meanwhile before it gives up a node") {
    const auto wait = GENERATE(0ms, 1ms);
    connected_world w(measured());
    const auto e = w.acquire("r", {.wait = wait});
    sleep_past_the_timer(w, 300ms);
    CHECK_FALSE(e->is_over());
    REQUIRE(w.run_until_over(*e));
    CHECK(e->outcome() == error_code());
    CHECK(w.engine->stats().timeouts == 0);
}

TEST_CASE("a client that is always late gets a verdict on nodes that hang, a second later at most") {
    connected_world w(measured());
    for (std::size_t i = 0; i < 3; ++i) w.set_mode(i, mode::mute);
    const auto before = w.now;
    const auto e = w.acquire("r");
    for (int i = 0; i < 100 && !e->is_over(); ++i) sleep_past_the_timer(w, 20ms);
    CHECK(e->outcome() == errc::no_quorum);
    CHECK(w.now - before >= 250ms + 40ms);
    CHECK(w.now - before <= 250ms + 1s + 20ms);
    SECTION("and one that is in time again after a while is as quick as ever") {
        for (std::size_t i = 0; i < 3; ++i) w.set_mode(i, mode::up);
        w.run_for(5s);
        for (std::size_t i = 0; i < 3; ++i) w.set_mode(i, mode::mute);
        const auto later = w.now;
        const auto again = w.acquire("s");
        REQUIRE(w.run_until_over(*again));
        CHECK(w.now - later == 250ms);
    }
}

TEST_CASE("a connection without an answer is opened again in time for a short lease") {
    connected_world w(measured());
    const auto e = w.granted("r", {.ttl = 2s});
    REQUIRE(e->held);
    for (std::size_t i = 0; i < 3; ++i) w.forget_connections(i);
    w.run_for(5s);
    CHECK(w.engine->stats().lost == 0);
    CHECK(e->held);
}

TEST_CASE("a lease that was adopted also gets the key of a node that was still connecting") {
    connected_world w(measured());
    const auto e = w.granted("r", {.ttl = 5s, .renew = false});
    REQUIRE(e->held);
    const std::string token = e->held.token();
    world other(measured());
    other.now = w.now;
    std::swap(other.nodes, w.nodes);
    other.latency[2] = 20ms;
    other.start();
    const auto adopted = other.adopt(token, {.ttl = 50s, .renew = false});
    REQUIRE(other.run_until_over(*adopted));
    REQUIRE(adopted->held);
    other.run_for(200ms);
    CHECK(other.nodes[2].keys(other.now).at("r").expires > other.now + 40s);
    e->held.detach();
}

// Tests that a lease with a watchdog lives as long as its holder gives signs of life; knows no
// socket.
// SPDX-License-Identifier: MIT
#include "component/support/world.hpp"
#include "support/catch.hpp"

#include <string>

using namespace redlock;
using namespace std::chrono_literals;
using fakes::connected_world;
using fakes::fenced_options_for;

TEST_CASE("a lease with a watchdog lives as long as its holder gives signs of life") {
    connected_world w;
    const auto e = w.granted("r", {.ttl = 2s, .watchdog = 1s});
    for (int i = 0; i < 40; ++i) {  // for ten ttl
        w.run_for(500ms);
        state_of(e->held)->touch(w.now);
        state_of(e->held)->touch(w.now - 900ms);  // by a thread that was slow
    }
    CHECK(state_of(e->held)->is_live());
    CHECK(e->held.valid_until() > w.now);
    CHECK(w.count(event_kind::lost) == 0);
}

TEST_CASE("a lease whose holder gives no sign of life is lost, and its keys stay as ever") {
    connected_world w;
    const auto e = w.granted("r", {.ttl = 3s, .watchdog = 5s});
    w.run_for(4s);
    const auto touched = w.now;
    state_of(e->held)->touch(touched);
    const auto lost = w.lost(e->held);
    REQUIRE(w.run_until_over(*lost));
    CHECK(lost->lost_for == loss::stalled);
    CHECK(w.now == touched + 5s);
    CHECK(w.count(event_kind::lost) == 1);
    CHECK(w.events.back().detail == "stalled");
    CHECK(w.engine->stats().lost == 1);
    const auto until = e->held.valid_until();
    CHECK(until - w.now > 1s);
    const auto renewals = w.engine->stats().renewals;
    state_of(e->held)->touch(w.now);
    CHECK_FALSE(state_of(e->held)->is_live());
    w.run_for(until - w.now - 1ms);
    CHECK(w.ours("r") == 3);
    w.run_for(2ms);
    CHECK(w.ours("r") == 0);
    CHECK(e->held.valid_until() == until);
    CHECK(w.engine->stats().renewals == renewals);
}

TEST_CASE("a holder that stalled may give its keys back sooner") {
    connected_world w;
    const auto e = w.granted("r", {.ttl = 3s, .watchdog = 1s});
    w.run_for(1s);
    REQUIRE_FALSE(state_of(e->held)->is_live());
    REQUIRE(w.ours("r") == 3);
    e->held = lease();
    w.run_for(10ms);
    CHECK(w.ours("r") == 0);
}

TEST_CASE("an adopted lease has the watchdog of its adopter") {
    connected_world w(fenced_options_for(3));
    const auto e = w.granted("r", {.ttl = 3s});
    const std::string token = e->held.token();
    e->held.detach();
    const auto mine = w.adopted(token, {.ttl = 3s, .watchdog = 1s});
    REQUIRE(state_of(mine->held)->is_live());
    const auto lost = w.lost(mine->held);
    REQUIRE(w.run_until_over(*lost));
    CHECK(lost->lost_for == loss::stalled);
}

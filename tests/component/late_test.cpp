// Tests commands that nodes execute long after they were sent; knows no socket and no clock.
// SPDX-License-Identifier: MIT
#include "client/engine.hpp"
#include "component/support/world.hpp"
#include "support/catch.hpp"

#include <string>

using namespace redlock;
using namespace std::chrono_literals;
using fakes::connected_world;
using fakes::mode;

TEST_CASE("a node that goes on after its client has died takes no key for it") {
    connected_world w(fakes::fenced_options_for(3));
    w.run_for(1s);
    SECTION("that acquired") {
        w.set_mode(0, mode::mute);
        CHECK(w.granted("r", {.ttl = 20s})->outcome() == error_code());
    }
    SECTION("that renewed") {
        const auto e = w.granted("r", {.ttl = 300ms});
        w.set_mode(0, mode::mute);
        w.run_for(400ms);
        CHECK(e->held.valid_until() > w.now);
        CHECK(w.nodes[0].keys(w.now).count("r") == 0);
    }
    const auto stats = w.engine->stats();
    CHECK(stats.disconnects == 0);
    w.discard();
    const bool is_late = GENERATE(false, true);
    w.run_for(is_late ? 1100ms : 10ms);
    w.set_mode(0, mode::up);
    CHECK(w.nodes[0].keys(w.now).count("r") == (is_late ? 0 : 1));
}

TEST_CASE("a node whose clock was set forward refuses one command, and is looked at once") {
    auto options = fakes::fenced_options_for(3);
    options.guard = restart_guard::off;  // which would strike it
    connected_world w(options);
    w.step_clock(0, 5s);
    const auto calls = w.nodes[0].count("EVALSHA");
    const auto first = w.granted("first");
    w.run_for(1ms);
    const auto first_votes = w.ours("first");
    CHECK(first_votes == 2);
    CHECK(w.nodes[0].count("EVALSHA") == calls + 2);  // with the acquire
    w.granted("second");
    w.run_for(1ms);
    CHECK(w.ours("second") == 3);
    CHECK(w.nodes[0].count("EVALSHA") == calls + 3);
}

TEST_CASE("a vote that came too late says so") {
    auto options = fakes::fenced_options_for(1);
    options.guard = restart_guard::off;
    connected_world w(options);
    w.step_clock(0, 5s);
    const auto e = w.granted("r");
    CHECK(e->outcome() == errc::no_quorum);
    REQUIRE(e->held.votes().size() == 1);
    CHECK(e->held.votes()[0].answer == vote::refused);
    CHECK(e->held.votes()[0].error == errc::clock_skew);
    CHECK(e->held.votes()[0].detail.find("too late") != std::string::npos);
}

TEST_CASE("a node whose clock was set back refuses no command as late") {
    auto options = fakes::fenced_options_for(3);
    options.guard = restart_guard::off;
    connected_world w(options);
    w.step_clock(0, -5s);
    w.granted("r");
    w.run_for(1ms);
    CHECK(w.ours("r") == 3);
}

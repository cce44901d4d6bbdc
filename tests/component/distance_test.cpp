// Tests clients whose nodes are far away, each at a distance of its own; knows no socket.
// SPDX-License-Identifier: MIT
#include "component/support/world.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::fakes;
using namespace std::chrono_literals;

namespace {

// As a client has them whose options set nothing.
client_options usual_options() {
    auto o = fenced_options_for(3);
    o.node_timeout = client_options{}.node_timeout;
    return o;
}

std::vector<std::string> late_nodes(const world& w) {
    std::vector<std::string> out;
    for (const told& e : w.events) {
        if (e.kind == event_kind::node_reported && e.error == errc::timed_out) {
            out.push_back(e.detail);
        }
    }
    return out;
}

}  // namespace

TEST_CASE("with the defaults a lock is had, kept and given back across an ocean") {
    const auto one_way = GENERATE(40ms, 80ms, 130ms);
    world w(usual_options());
    for (auto& l : w.latency) l = one_way;
    w.start();
    const auto e = w.granted("r", {.ttl = 3s});
    REQUIRE(e->held);
    w.run_for(10s);
    CHECK(w.engine->stats().lost == 0);
    CHECK(w.engine->stats().renewals > 5);
    CHECK(w.engine->stats().timeouts == 0);
    const auto done = w.release(std::move(e->held));
    w.run_for(1s);
    CHECK(done->outcome() == error_code());
    CHECK(w.ours("r") == 0);
    CHECK(late_nodes(w).empty());
    SECTION("also by one that waits for less than the way") {
        CHECK(w.granted("r", {.wait = 1ms})->held);
    }
}

TEST_CASE("a connection serves one round trip after it was made") {
    connected_world w(usual_options());
    REQUIRE(w.granted("r")->held);  // now the nodes have records and scripts
    for (auto& l : w.latency) l = 40ms;
    const auto before = w.now;
    for (std::size_t i = 0; i < 3; ++i) w.cut(i);
    w.run_for(1ms);
    CHECK(w.granted("other", {.ttl = 3s, .wait = 1s})->held);
    // A short rest, one way until it is made, the greeting, and the acquire itself.
    CHECK(w.now - before < 30ms + 40ms + 80ms + 80ms);
}

TEST_CASE("nodes vote though round trips are longer than the pause between looks at the clocks") {
    const duration apart = GENERATE(0ms, 200ms, 250ms, 400ms);
    const auto far = GENERATE(140ms, 160ms, 180ms);
    auto o = fenced_options_for(5);
    o.node_timeout = 0ms;
    o.ttl_max = 1s;  // the clocks are looked at four times in that
    world w(o);
    w.latency[0] = w.latency[4] = far;
    w.set_mode(4, mode::refuses);
    const auto before = w.now;
    w.start();
    w.run_for(apart);
    w.set_mode(4, mode::up);
    const auto e = w.granted("r", {.ttl = 900ms, .wait = 10s});
    CHECK(e->outcome() == error_code());
    CHECK(w.now - before < 5s);
}

TEST_CASE("each node has four of its own round trips before it counts as hung") {
    world w(usual_options());
    w.latency = {100us, 40ms, 50ms};
    w.connected();
    w.run_for(1s);
    CHECK(w.engine->node(0).node_timeout() == 250ms);
    CHECK(w.engine->node(1).node_timeout() == 320ms);
    CHECK(w.engine->node(2).node_timeout() == 400ms);
    CHECK(w.engine->parts().nodes.time_for_quorum(node_lists(3)) == 320ms);
    CHECK(w.engine->parts().nodes.time_for_all() == 400ms);
    CHECK(w.engine->parts().nodes.shortest_time_for_quorum(node_lists(1)) == 50ms);
    for (std::size_t i = 0; i < 3; ++i) w.set_mode(i, mode::mute);
    const auto before = w.now;
    const auto e = w.granted("r");
    CHECK(e->outcome() == errc::no_quorum);
    CHECK(w.now - before == 320ms);
    SECTION("measured again with each connection") {
        for (std::size_t i = 0; i < 3; ++i) w.set_mode(i, mode::up);
        w.latency[0] = 80ms;
        w.cut(0);
        w.run_for(2s);
        CHECK(w.engine->node(0).node_timeout() == 640ms);
    }
}

TEST_CASE("a node_timeout below the round trip is reported once per node, with the value to set") {
    auto o = usual_options();
    o.node_timeout = 50ms;
    world w(o);
    w.latency = {100us, 40ms, 40ms};
    w.connected();
    w.run_for(1s);
    const std::string text =
        "its round trip took 80 ms, and node_timeout is 50 ms: set it to 320 ms, or to 0, by "
        "measurement";
    CHECK(late_nodes(w) == std::vector{text, text});
    CHECK(w.engine->parts().nodes.round_trip(node_lists(3)) == 50ms);
    const auto e = w.granted("r");
    CHECK(e->outcome() == errc::no_quorum);
    CHECK(e->held.votes()[1].answer == vote::timed_out);
    CHECK(e->held.votes()[1].detail == text);
    w.cut(1);
    w.run_for(2s);
    CHECK(late_nodes(w).size() == 2);
}

TEST_CASE("a round trip above 1 s is reported, with the node_timeout to set") {
    auto o = usual_options();
    o.connect_timeout = 30s;
    world w(o);
    w.latency[0] = 600ms;
    w.start();
    w.run_for(10s);
    CHECK(late_nodes(w) == std::vector<std::string>{"its round trip took 1.2 s, and node_timeout is "
                                                    "1.0 s: set it to 4.8 s"});
}

TEST_CASE("nodes that are too far for connect_timeout are reached with the one that is named") {
    auto o = usual_options();
    o.connect_timeout = 80ms;
    const auto far = [](client_options options) {
        auto w = std::make_unique<world>(std::move(options));
        for (auto& l : w->latency) l = 45ms;
        w->start();
        return w;
    };
    auto w = far(o);
    w->run_for(1s);
    const auto down = std::find_if(w->events.begin(), w->events.end(), [](const told& e) {
        return e.kind == event_kind::node_down;
    });
    REQUIRE(down != w->events.end());
    INFO(down->detail);
    const std::string before = "set connect_timeout_ms, which is 80, to ";
    const auto at = down->detail.find(before);
    REQUIRE(at != std::string::npos);
    const auto enough = std::stol(down->detail.substr(at + before.size()));
    o.connect_timeout = std::chrono::milliseconds(enough);
    CHECK(far(o)->granted("r")->held);
}

TEST_CASE("a node that never answered is waited for as long as connecting may take") {
    auto o = usual_options();
    o.fencing = false;
    world w(o);
    for (std::size_t i = 0; i < 3; ++i) w.set_mode(i, mode::mute);
    w.start();
    CHECK(w.engine->node(0).node_timeout() == o.connect_timeout);
    const auto before = w.now;
    const auto e = w.granted("r", {.wait = 1ms});
    CHECK(e->outcome() == errc::no_quorum);
    CHECK(w.now - before == o.connect_timeout);
    // And then no longer than one that is near.
    w.run_for(1ms);
    CHECK(w.engine->node(0).node_timeout() == 250ms);
}

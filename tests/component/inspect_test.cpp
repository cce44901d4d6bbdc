// Tests the question which client holds a resource; knows no socket.
// SPDX-License-Identifier: MIT
#include "client/inspect.hpp"
#include "component/support/world.hpp"
#include "support/catch.hpp"

#include <optional>
#include <string>

using namespace redlock;
using namespace std::chrono_literals;
using fakes::connected_world;
using fakes::mode;
using fakes::world;

TEST_CASE("an inspection shows the holder, not the whole owner") {
    connected_world w;
    const auto e = w.granted("r", {.ttl = 10s});
    w.run_for(1s);
    const auto seen = w.inspect("r");
    w.run_until_over(*seen);
    CHECK(seen->outcome() == error_code());
    CHECK(seen->state.held);
    CHECK(seen->state.resource == "r");
    CHECK(seen->state.owner.find("@tester") != std::string::npos);
    CHECK(seen->state.owner.find(e->held.owner().to_string()) == std::string::npos);
    CHECK(seen->state.valid_for > 8s);
    CHECK(seen->state.valid_for <= 9s);
    REQUIRE(seen->state.nodes.size() == 3);
    CHECK(seen->state.nodes[1].state == key_state::held);
    CHECK(w.ours("r") == 3);
    CHECK(w.count_sent("SET") == 3);
}

TEST_CASE("an inspection tells what each node said, or why it did not") {
    world w(6);
    w.modes[0] = mode::refuses;
    w.connected();
    w.set_mode(1, mode::mute);
    w.nodes[2].instead = [](const fakes::command&) { return "-LOADING not yet\r\n"; };
    w.nodes[3].put("r", "redlock:shared", w.now + 1h);
    w.nodes[4].put("r", "other", w.now + 1h);
    const auto seen = w.inspect("r");
    w.run_until_over(*seen);
    CHECK(seen->outcome() == error_code());
    const auto& n = seen->state.nodes;
    REQUIRE(n.size() == 6);
    CHECK(n[0].state == key_state::unreachable);
    CHECK(n[0].error == boost::asio::error::connection_refused);
    CHECK(n[1].state == key_state::timed_out);
    CHECK(n[2].state == key_state::refused);
    CHECK(n[2].detail == "LOADING not yet");
    CHECK(n[3].state == key_state::shared);
    CHECK(n[4].state == key_state::held);
    CHECK(n[4].owner == "other");
    CHECK(n[5].state == key_state::free);
    CHECK_FALSE(seen->state.held);
    CHECK_FALSE(seen->state.decided);
}

TEST_CASE("a list does not go on with a server that does not") {
    connected_world w;
    w.nodes[0].instead = [](const fakes::command& c) {
        return c.front() == "SCAN" ? std::optional<std::string>("*2\r\n$1\r\n7\r\n*0\r\n") : std::nullopt;
    };
    const auto seen = w.list();
    w.run_for(1s);
    REQUIRE(seen->is_over());
    CHECK(seen->outcome() == error_code{});
    CHECK(w.nodes[0].count("SCAN") == 2);
}

TEST_CASE("an inspection without a resource, and one that is cancelled, say so once") {
    connected_world w;
    CHECK(w.inspect("")->outcome() == errc::invalid_argument);
    for (std::size_t k = 0; k < 12; ++k) {
        const auto seen = w.inspect("r");
        for (std::size_t i = 0; i < k && !seen->is_over(); ++i) w.turn();
        w.cancel(*seen);
        w.run_for(1s);
        CHECK(seen->outcomes.size() == 1);
    }
}

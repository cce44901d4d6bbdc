// Tests what a client asks of nodes that lack scripts, and of nodes across an ocean; knows no socket.
// SPDX-License-Identifier: MIT
#include "component/support/world.hpp"
#include "support/catch.hpp"
#include "wire/resp/command.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

using namespace redlock;
using namespace redlock::fakes;
using namespace std::chrono_literals;

namespace {

std::size_t loads_on(const fake_node& node) {
    std::size_t n = 0;
    for (const auto& c : node.seen) n += c.front() == "SCRIPT" && c[1] == "LOAD" ? 1U : 0U;
    return n;
}

/// Takes, prolongs and gives back a lock; there was no need to send a script for that.
void need_no_text(world& w) {
    const auto e = w.granted("r", {.ttl = 3s});
    REQUIRE(e->held);
    w.run_for(3s);
    w.run_until_over(*w.release(std::move(e->held)));
    w.run_for(1s);
    CHECK(w.ours("r") == 0);
    CHECK(w.count_sent("EVAL") == 0);
}

client_options across_an_ocean() {
    auto o = fenced_options_for(3);
    o.node_timeout = client_options{}.node_timeout;
    o.connect_timeout = client_options{}.connect_timeout;
    return o;
}

}  // namespace

TEST_CASE("a node that lacks scripts gets these in the handshake, and only these") {
    const bool is_fenced = GENERATE(true, false);
    auto options = fenced_options_for(3);
    options.fencing = is_fenced;
    const std::size_t all = resp::all_scripts().size();
    world w(options);
    client_state another;
    w.nodes[1].execute(another, {"SCRIPT", "LOAD", std::string(resp::plain().text)}, w.now);
    w.nodes[1].execute(another, {"SCRIPT", "LOAD", std::string(resp::record().text)}, w.now);
    for (const auto& s : resp::all_scripts()) {
        w.nodes[2].execute(another, {"SCRIPT", "LOAD", std::string(s.text)}, w.now);
    }
    w.connected();
    CHECK(loads_on(w.nodes[0]) == all);
    CHECK(loads_on(w.nodes[1]) == all - 2);
    CHECK(loads_on(w.nodes[2]) == 0);
    need_no_text(w);
}

TEST_CASE("scripts that are flushed within a handshake keep no node away") {
    world w(fenced_options_for(3));
    for (auto& n : w.nodes) {
        n.instead = [&n](const command& c) -> std::optional<std::string> {
            if (c.front() == "EVALSHA" && c[1] == resp::record().sha1) n.flush_scripts();
            return std::nullopt;
        };
    }
    w.connected();
    for (auto& n : w.nodes) n.instead = {};
    CHECK(w.engine->stats().disconnects == 0);
    CHECK(w.granted("r")->held);
}

TEST_CASE("with the defaults the first try is granted by nodes that are 260 ms away") {
    world w(across_an_ocean());
    for (auto& l : w.latency) l = 130ms;
    w.start();
    const auto e = w.granted("r");
    CHECK(e->held);
    CHECK(w.engine->stats().disconnects == 0);
}

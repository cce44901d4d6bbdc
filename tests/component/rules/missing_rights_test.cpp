// Tests that a node which may not look at a key does not count it as nobody's; knows no socket.
// SPDX-License-Identifier: MIT
#include "component/support/stranger.hpp"
#include "component/support/waiting.hpp"
#include "component/support/world.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::fakes;
using namespace std::chrono_literals;

namespace {

constexpr acquire_options reads{.ttl = 10s, .mode = lock_mode::shared};

void forbid_everywhere(world& w, const std::string& command) {
    for (auto& node : w.nodes) node.forbid(command);
}

void end(world& w, lease held) {
    w.run_until_over(*w.release(std::move(held)));
    w.run_for(1ms);
}

}  // namespace

TEST_CASE("a reader that leaves takes no key from those whom its node can't see") {
    connected_world w(fenced_options_for(3));
    const auto first = w.granted("r", reads);
    const auto second = w.granted("r", reads);
    REQUIRE(second->held);
    forbid_everywhere(w, GENERATE("ZRANGE", "ZREM"));
    end(w, std::move(first->held));
    CHECK(w.ours("r") == 3);
    for (auto& node : w.nodes) node.permit("ZRANGE");
    CHECK(w.granted("r")->outcome() == errc::contended);
    CHECK(second->held);
}

TEST_CASE("a reader is not let in where its node can't see what it has to exceed") {
    connected_world w(fenced_options_for(3));
    const auto first = w.granted("r", reads);
    forbid_everywhere(w, "ZSCORE");
    const auto refused = w.acquire("r", reads);
    const auto other = w.acquire("other");
    w.run_until_over(*refused);
    w.run_until_over(*other);
    CHECK(refused->outcome() == errc::no_quorum);
    CHECK(other->outcome() == error_code());  // in the same command
    CHECK(first->held);
}

TEST_CASE("a release that has to raise what it can't see ends no command") {
    connected_world w(fenced_options_for(3));
    const auto first = w.granted("r", reads);
    const auto second = w.granted("r", reads);
    const auto other = w.granted("other");
    w.set_mode(0, mode::refuses);
    w.run_for(1ms);
    w.release(std::move(first->held));
    w.release(std::move(other->held));
    forbid_everywhere(w, "ZSCORE");
    w.set_mode(0, mode::up);
    w.run_for(3s);  // both are owed, and go in one command
    CHECK(calls_of(w, ask::release, 0) == 2);  // of which none is sent again
    CHECK(w.ours("other") == 0);
    CHECK(w.ours("r") == 3);
}

TEST_CASE("a set of readers that can't be wiped lets none of them in") {
    connected_world w(fenced_options_for(3));
    forbid_everywhere(w, "DEL");
    CHECK(w.granted("r", reads)->outcome() == errc::no_quorum);
}

TEST_CASE("a writer's key is not shared where what goes with it can't be written") {
    connected_world w(fenced_options_for(3));
    const auto held = w.granted("r", {.ttl = 10s});
    w.run_for(1ms);
    forbid_everywhere(w, GENERATE("DEL", "ZADD", "PEXPIRE", "PTTL", "SET"));
    const auto e = w.downgrade(held->held);
    REQUIRE(w.run_until_over(*e));
    CHECK(e->outcome() == errc::no_quorum);
    CHECK(held->held);
    for (const auto& node : w.nodes) CHECK(node.keys(w.now).at("r").value != "redlock:shared");
}

TEST_CASE("no slot is given away where the node can't see how many there are") {
    connected_world w(fenced_options_for(3));
    std::vector<ending_ptr> held;
    for (int i = 0; i < 2; ++i) held.push_back(w.granted("r", {.ttl = 10s, .slots = 2}));
    for (const auto& e : held) REQUIRE(e->held);
    forbid_everywhere(w, "ZRANGEBYSCORE");
    for (int i = 0; i < 20; ++i) {  // each draws one of five
        const auto e = w.granted("r", {.ttl = 10s, .slots = 5});
        CHECK_FALSE(e->held);
        CHECK(e->outcome() == errc::no_quorum);
    }
}

TEST_CASE("a slot is given to nobody where the number of slots can't be noted") {
    connected_world w(fenced_options_for(3));
    forbid_everywhere(w, "ZADD");
    const auto e = w.granted("r", {.ttl = 10s, .slots = 2});
    CHECK(e->outcome() == errc::no_quorum);
    w.run_for(1ms);
    CHECK(w.ours("r#0") + w.ours("r#1") == 0);
}

TEST_CASE("a queue that a node can't see is not passed") {
    connected_world w(fenced_options_for(3));
    stranger other(w);
    other.enter_all("r", 1, 30s);
    const auto kind = GENERATE(0, 1, 2, 3);
    forbid_everywhere(w, "ZRANGE");
    ending_ptr e;
    if (kind == 0) e = w.granted("r");
    if (kind == 1) e = w.granted("r", reads);
    if (kind == 2) e = w.granted("r", {.slots = 1});
    if (kind == 3) w.run_until_over(*(e = w.acquire_all({"a", "r"})));
    CHECK(e->outcome() == errc::no_quorum);
    w.run_for(1ms);
    CHECK(w.ours("r") + w.ours("r#0") + w.ours("a") == 0);
}

TEST_CASE("a key that is gone is not taken again where the node can't say whether it was revoked") {
    connected_world w(fenced_options_for(3));
    const auto e = w.granted("r", {.ttl = 3s});
    const auto lost = w.lost(e->held);
    w.nodes[0].remove("r");
    forbid_everywhere(w, "ZSCORE");
    w.run_for(5s);
    CHECK_FALSE(lost->is_over());  // nor is that an answer: the others hold the key
    CHECK(e->held);
    CHECK(w.ours("r") == 2);
}

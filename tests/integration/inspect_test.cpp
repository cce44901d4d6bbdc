// The question which client holds a resource, on real servers; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/founded.hpp"

#include <redlock/error.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

TEST_CASE("a free resource is free on every node", "[inspect]") {
    cluster nodes(3);
    driver d(nodes.options());
    auto got = d.inspect("r");
    REQUIRE(got.error() == error_code{});
    const auto& state = got.value();
    CHECK(state.resource == "r");
    CHECK(state.decided);
    CHECK_FALSE(state.held);
    CHECK(state.owner.empty());
    CHECK(state.quorum == 2);
    CHECK(state.valid_for == 0ms);
    REQUIRE(state.nodes.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(state.nodes[i].node.str() == "n" + std::to_string(i));
        CHECK(state.nodes[i].state == key_state::free);
    }
    CHECK(nodes.keys() == 0);
}

TEST_CASE("a held resource tells its holder, but not enough to act as it", "[inspect]") {
    cluster nodes(3);
    auto named = nodes.options();
    named.client_name = "till-7";
    named.fencing = GENERATE(true, false);
    auto options = nodes.options();
    options.fencing = named.fencing;
    driver holder(named);
    driver d(options);
    auto held = holder.acquire("r", {.ttl = 30s});
    REQUIRE(held.value());
    REQUIRE(holder.until([&] { return nodes.holding("r") == 3; }));
    const auto state = d.inspect("r").value();
    CHECK(state.held);
    CHECK(state.decided);
    CHECK(state.owner.find("@till-7") != std::string::npos);
    CHECK(state.owner.find(held.value().owner().to_string()) == std::string::npos);
    CHECK(state.valid_for > 20s);
    CHECK(state.valid_for <= 30s);
    CHECK(state.fence == held.value().fence());
    CHECK((state.fence > 0) == named.fencing);
    for (const auto& node : state.nodes) {
        CHECK(node.state == key_state::held);
        CHECK(node.owner == state.owner);
        CHECK(node.ttl > 20s);
        CHECK(node.ttl <= 30s);
    }
}

TEST_CASE("a holder that has no fence is not given that of the lease before it", "[inspect]") {
    cluster nodes(3);
    driver d(nodes.options());
    auto before = d.acquire("r", {.ttl = 30s});
    REQUIRE(before.value());
    const auto fence = before.value().fence();
    REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
    REQUIRE(d.release(std::move(before.value())) == error_code{});
    REQUIRE(d.until([&] { return nodes.holding("r") == 0; }));
    for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).set("r", "foreign");
    const auto state = d.inspect("r").value();
    CHECK(state.held);
    CHECK(state.owner == "foreign");
    CHECK(state.fence == 0);
    CHECK_FALSE(state.held_for);
    for (const auto& node : state.nodes) CHECK(node.fence == fence);  // what is there is shown
}

TEST_CASE("inspect shows the cause for nodes that are gone, and is undecided without a quorum",
          "[inspect]") {
    cluster nodes(3);
    found(nodes);  // else one that stops may have no vote yet, and is not queried
    auto options = nodes.options();
    options.node_timeout = 1s;
    driver d(options);
    auto held = d.acquire("r", {.ttl = 30s});
    REQUIRE(held.value());
    REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
    nodes.kill(0);
    SECTION("a minority") {
        const auto state = d.inspect("r").value();
        CHECK(state.decided);
        CHECK(state.held);
        CHECK(state.nodes[0].state == key_state::unreachable);
        CHECK(state.nodes[0].error != error_code{});
    }
    SECTION("a majority") {
        nodes.stop(1);
        const auto state = d.inspect("r").value();
        CHECK_FALSE(state.decided);
        CHECK_FALSE(state.held);
        CHECK(state.nodes[0].state == key_state::unreachable);
        CHECK(state.nodes[1].state == key_state::timed_out);
        CHECK(state.nodes[2].state == key_state::held);
    }
}

TEST_CASE("inspect shows split and foreign keys as they are", "[inspect]") {
    cluster nodes(3);
    driver d(nodes.options());
    nodes.ask(0).set("r", "one");
    nodes.ask(1).set("r", "two");
    auto state = d.inspect("r").value();
    CHECK(state.decided);
    CHECK_FALSE(state.held);
    CHECK(state.nodes[0].owner == "one");
    CHECK(state.nodes[1].owner == "two");
    CHECK(state.nodes[0].ttl == -1ms);
    CHECK(state.nodes[2].state == key_state::free);
    nodes.ask(1).set("r", "one");
    state = d.inspect("r").value();
    CHECK(state.held);
    CHECK(state.owner == "one");
}

TEST_CASE("inspect shortens a value of 5 MB, and no connection or lease suffers from it",
          "[inspect]") {
    cluster nodes(3);
    auto options = nodes.options(GENERATE(true, false));
    driver d(options);
    auto good = d.acquire("good");
    REQUIRE(good.error() == error_code{});
    for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).set("r", std::string(5U << 20, 'x'));
    CHECK(d.acquire("r").error() == errc::contended);
    const auto state = d.inspect("r").value();
    CHECK(state.held);
    CHECK(state.owner.size() < 200);
    for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).set("r", "");
    CHECK(d.inspect("r").value().held);
    CHECK(d.client().stats().disconnects == 0);
    CHECK(good.value());
}

TEST_CASE("inspect reports a key that is no string as foreign_data", "[inspect]") {
    cluster nodes(3);
    driver d(nodes.options());
    for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).command({"RPUSH", "r", "an item"});
    const auto state = d.inspect("r").value();
    CHECK_FALSE(state.held);
    for (const auto& node : state.nodes) {
        CHECK(node.state == key_state::refused);
        CHECK(node.error == errc::foreign_data);
    }
}

TEST_CASE("what cannot name a lock cannot be inspected", "[inspect]") {
    cluster nodes(1);
    driver d(nodes.options());
    CHECK(d.inspect("").error() == errc::invalid_argument);
    CHECK(d.inspect(std::string(513, 'x')).error() == errc::invalid_argument);
}

TEST_CASE("the slots of a resource are those that a quorum of nodes keeps", "[inspect]") {
    founded_cluster nodes(3);
    auto named = nodes.options();
    named.client_name = "till-7";
    driver holder(named);
    driver d(nodes.options());
    CHECK(d.inspect("r").value().slots.empty());
    CHECK(d.inspect("r").value().slot_count == 0);
    std::vector<lease> held;
    for (int i = 0; i < 3; ++i) {
        auto got = holder.acquire("r", {.ttl = 30s, .slots = 40});
        REQUIRE(got.error() == error_code{});
        held.push_back(std::move(got.value()));
    }
    std::sort(held.begin(), held.end(),
              [](const lease& a, const lease& b) { return a.slot() < b.slot(); });
    const auto state = d.inspect("r").value();
    CHECK(state.decided);
    CHECK_FALSE(state.held);
    CHECK(state.slot_count == 40);
    REQUIRE(state.slots.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(state.slots[i].number == held[i].slot());
        CHECK(state.slots[i].fence == held[i].fence());
        CHECK(state.slots[i].owner.find("@till-7") != std::string::npos);
        CHECK(state.slots[i].owner == abbreviate_owner(held[i].owner().to_string() + "@till-7"));
        CHECK(state.slots[i].valid_for > 20s);
        CHECK(state.slots[i].valid_for <= 30s);
    }
    SECTION("also with a node down or hung") {
        GENERATE(true, false) ? nodes.kill(1) : nodes.stop(1);
        CHECK(d.inspect("r").value().slots.size() == 3);
        nodes.cont(1);  // or the clients would wait for what they owe it
    }
    SECTION("not those of a minority, nor those that the set names in vain") {
        const auto gone = "r#" + std::to_string(held[0].slot());
        nodes.ask(0).del(gone);
        CHECK(d.inspect("r").value().slots.size() == 3);
        nodes.ask(1).del(gone);
        CHECK(d.inspect("r").value().slots.size() == 2);
        nodes.ask(2).command({"DEL", "{r}:slots"});
        CHECK(d.inspect("r").value().slots.size() == 2);
        CHECK(holder.release(std::move(held[1])) == error_code{});
        const auto rest = d.inspect("r").value();
        REQUIRE(rest.slots.size() == 1);
        CHECK(rest.slots[0].number == held[2].slot());
    }
    SECTION("whatever another program writes into the set") {
        std::vector<std::string> vacant;
        for (int slot = 0; vacant.size() < 2; ++slot) {
            if (std::none_of(held.begin(), held.end(),
                             [&](const lease& l) { return l.slot() == slot; })) {
                vacant.push_back(std::to_string(slot));
            }
        }
        for (std::size_t i = 0; i < 3; ++i) {
            nodes.ask(i).command({"ZADD", "{r}:slots", "99999999999999", "1000", "99999999999999",
                                  "x", "99999999999999", "-3", "-9.3e18", "k:0",
                                  "-9223372036854775808", "k:7", "inf", vacant[0], "1e300",
                                  vacant[1]});
        }
        CHECK(d.inspect("r").value().slots.size() == 3);
    }
    SECTION("a set that is none") {
        for (std::size_t i = 0; i < 3; ++i) {
            nodes.ask(i).del("{r}:slots");
            nodes.ask(i).set("{r}:slots", "a string");
        }
        const auto none = d.inspect("r").value();
        CHECK(none.decided);
        CHECK(none.slots.empty());
    }
}

TEST_CASE("all slots and all readers of a resource are shown", "[inspect]") {
    founded_cluster nodes(3);
    driver d(nodes.options());
    const auto later = std::to_string(
        std::chrono::duration_cast<std::chrono::milliseconds>(
            (std::chrono::system_clock::now() + 1h).time_since_epoch())
            .count());
    std::vector<std::string> slots{"ZADD", "{r}:slots", "-" + later, "k:1000"};
    std::vector<std::string> keys{"MSET"};
    std::vector<std::string> readers{"ZADD", "{s}:readers"};
    for (int i = 0; i < 1'000; ++i) {
        slots.insert(slots.end(), {later, std::to_string(i)});
        keys.insert(keys.end(), {"r#" + std::to_string(i), "ABCDEFGHIJKLMNOPQRSTUV@here"});
        readers.insert(readers.end(),
                       {later, "ABCDEFGHIJKLMNOPQRSTUV@" + std::to_string(i)});
    }
    for (std::size_t i = 0; i < 3; ++i) {
        nodes.ask(i).command(slots);
        nodes.ask(i).command(keys);
        nodes.ask(i).command(readers);
        nodes.ask(i).set("s", "redlock:shared");
    }
    const auto of_r = d.inspect("r").value();
    CHECK(of_r.decided);
    CHECK(of_r.slots.size() == 1'000);
    CHECK(of_r.slot_count == 1'000);
    const auto of_s = d.inspect("s").value();
    CHECK(of_s.decided);
    CHECK(of_s.readers.size() == 1'000);
    CHECK(d.client().stats().disconnects == 0);  // none broke over that
}

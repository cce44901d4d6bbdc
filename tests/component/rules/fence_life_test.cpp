// Tests for how long nodes keep the fence of a lock, whatever ttl_max is; knows no socket.
// SPDX-License-Identifier: MIT
#include "component/support/script_node.hpp"
#include "component/support/world.hpp"
#include "support/catch.hpp"
#include "wire/request.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

using namespace redlock;
using namespace redlock::fakes;
using namespace std::chrono_literals;

namespace {

/// That the first node keeps besides its record.
std::size_t keys_on_first(const world& w) {
    auto all = w.nodes[0].all_keys(w.now);
    all.erase(wire::record_key(""));
    return all.size();
}

std::optional<duration> life_of_fence(const world& w, const std::string& resource = "r") {
    const auto all = w.nodes[0].all_keys(w.now);
    const auto at = all.find(wire::fence_key("", resource));
    if (at == all.end()) return std::nullopt;
    return at->second.expires - w.now;
}

void release(world& w, lease held) {
    const auto e = w.release(std::move(held));
    w.run_until_over(*e);
    w.run_for(1ms);
    REQUIRE(e->outcome() == error_code());
}

acquire_options how_for(int kind, std::chrono::milliseconds ttl) {
    acquire_options how{.ttl = ttl};
    if (kind == 1) how.mode = lock_mode::shared;
    return how;
}

}  // namespace

TEST_CASE("20 s after its release nothing of a name is left on a node, whatever ttl_max is") {
    const auto ttl_max = GENERATE(60s, 3600s);
    connected_world w(fenced_options_for(3, ttl_max));
    const auto held_for = GENERATE(0s, 50s, 600s);
    const std::chrono::milliseconds ttl = GENERATE(10s, 60s);
    const int kind = GENERATE(0, 1);  // exclusive, shared
    const auto e = w.granted("r", how_for(kind, ttl));
    w.run_for(held_for);
    REQUIRE(e->held);
    release(w, std::move(e->held));
    w.run_for(20s);
    CHECK(keys_on_first(w) == 0);
}

TEST_CASE("20 s after their release nothing of several names is left") {
    connected_world w(fenced_options_for(3, 3600s));
    const auto e = w.acquire_all({"a", "b"}, {.ttl = 60s});
    w.run_until_over(*e);
    REQUIRE(e->held);
    w.run_for(100s);
    release(w, std::move(e->held));
    w.run_for(20s);
    CHECK(keys_on_first(w) == 0);
}

TEST_CASE("a node keeps the fence of a lease for as long as it is held") {
    const std::chrono::milliseconds ttl = GENERATE(2s, 10s, 60s);
    connected_world w(fenced_options_for(3, GENERATE(false, true) ? ttl : 60s));
    const int kind = GENERATE(0, 1);  // exclusive, shared
    const auto e = w.granted("r", how_for(kind, ttl));
    for (int i = 0; i < 400; ++i) {
        w.run_for(1s);
        REQUIRE(life_of_fence(w).value_or(0s) > 0s);
        REQUIRE(life_of_fence(w) <= 6 * ttl + 16s);
    }
}

TEST_CASE("a node that took the key again keeps its fence for as long as the lease is held") {
    connected_world w(fenced_options_for(3, 60s));
    const std::chrono::milliseconds ttl = GENERATE(10s, 60s);
    const int kind = GENERATE(0, 1);  // exclusive, shared
    const auto e = w.granted("r", how_for(kind, ttl));
    w.run_for(ttl);
    w.nodes[0].remove("r");
    w.nodes[0].remove(wire::fence_key("", "r"));
    w.run_for(ttl);
    REQUIRE(e->held);
    for (int i = 0; i < 400; ++i) {
        w.run_for(1s);
        REQUIRE(life_of_fence(w).value_or(0s) > 0s);
    }
}

TEST_CASE("a reader that joins for a short time leaves the fence to one that stays") {
    connected_world w(fenced_options_for(3, 60s));
    const auto stays = w.granted("r", how_for(1, 60s));
    const auto joins = w.granted("r", how_for(1, 1s));
    REQUIRE(joins->held);
    release(w, std::move(joins->held));
    w.run_for(19s);
    CHECK(life_of_fence(w).value_or(0s) > 0s);
    REQUIRE(stays->held);
}

TEST_CASE("an adopted lease keeps the fences, too") {
    connected_world w(fenced_options_for(3, 60s));
    const auto e = w.granted("r", {.ttl = 10s, .renew = false});
    const auto token = e->held.token();
    e->held.detach();
    w.run_for(9s);
    const auto again = w.adopted(token, {.ttl = 60s, .renew = false});
    REQUIRE(again->held);
    w.run_for(50s);
    CHECK(life_of_fence(w).value_or(0s) > 0s);
}

TEST_CASE("a node keeps a fence until its time has passed it by 15 s, however short the ttl is") {
    connected_world w(fenced_options_for(3, GENERATE(2s, 60s, 3600s)));
    const auto e = w.granted("r", {.ttl = 1s, .renew = false});
    const duration life = life_of_fence(w).value_or(0s);
    CHECK(life > 14s);
    CHECK(life <= 16'001ms);  // a node's clock counts whole ms
}

TEST_CASE("a node without the fence of a lock refuses what it would refuse with it") {
    connected_world w(fenced_options_for(3, 60s));
    const auto e = w.granted("r", {.ttl = 1s});
    const std::uint64_t fence = e->held.fence();
    release(w, std::move(e->held));
    w.run_for(20s);
    REQUIRE_FALSE(life_of_fence(w));
    const auto next = w.granted("r", {.ttl = 1s});
    CHECK(next->held.fence() > fence + 4'000'000);  // above the floor of all nodes
}

TEST_CASE("a node adds the lift to its clock wherever it compares a fence with that") {
    constexpr std::int64_t lift_us = 3'600'000'000;
    constexpr std::int64_t tolerance_us = 15'000'000;
    const time_point now(100h);
    testing::script_node n(now);
    const auto acquire = [&](std::int64_t after_clock_us) {
        testing::asked one;
        one.what = testing::ask::acquire;
        one.key = "K";
        one.fence_key = "F";
        one.queue = "Q";
        one.value = std::string(22, 'A') + "@a:1";
        one.ttl = "1000";
        one.fence = std::to_string(n.us(now) + after_clock_us);
        const auto said =
            n.carry_out(std::string(resp::requests().text),
                        {"N", testing::record_epoch, "", "15000000", std::to_string(lift_us), {one}},
                        now);
        return said.items.empty() ? said.number : said.items[0].number;
    };
    CHECK(acquire(0) == 4);  // stale
    CHECK(acquire(lift_us - tolerance_us) == 4);
    CHECK(acquire(lift_us + tolerance_us + 1'000) == 5);  // ahead
    CHECK(acquire(lift_us) == 1);
    const auto& all = n.server.database().all();
    REQUIRE(all.at("F").expires_ms);
    CHECK(*all.at("F").expires_ms == n.server.wall.ms(now) + 16'000);
}

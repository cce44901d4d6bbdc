// Tests that a holder's renewal gives its own key back the expiry that somebody took away; knows no
// socket.
// SPDX-License-Identifier: MIT
#include "component/support/world.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::fakes;
using namespace std::chrono_literals;

namespace {

/// What each node says to an operator.
std::vector<std::int64_t> said(world& w, const command& words) {
    std::vector<std::int64_t> all;
    for (auto& node : w.nodes) {
        client_state operators;
        all.push_back(node.execute(operators, words, w.now).number);
    }
    return all;
}

void persist(world& w, const std::string& key) {
    REQUIRE(said(w, {"PERSIST", key}) == std::vector<std::int64_t>{1, 1, 1});
    REQUIRE(said(w, {"PTTL", key}) == std::vector<std::int64_t>{-1, -1, -1});
}

/// Whether a key runs out on every node, in that time at the latest.
bool all_expire_within(world& w, const std::string& key, std::chrono::milliseconds ttl) {
    const auto left = said(w, {"PTTL", key});
    return std::all_of(left.begin(), left.end(),
                       [&](std::int64_t ms) { return ms > 0 && ms <= ttl.count(); });
}

}  // namespace

TEST_CASE("a renewal gives its own key its expiry back, whatever the kind of lock") {
    connected_world w(either_options_for(3));
    acquire_options how{.ttl = 9s};
    std::string key = "r";
    SECTION("exclusive") {}
    if (w.options.fencing) {
        SECTION("shared") { how.mode = lock_mode::shared; }
        SECTION("a slot") {
            how.slots = 1;
            key = "r#0";
        }
    }
    const auto e = w.granted("r", how);
    REQUIRE(e->outcome() == error_code{});
    w.run_for(1ms);
    persist(w, key);
    w.run_for(4s);
    CHECK(all_expire_within(w, key, 9s));
    CHECK(e->held.valid_until() > w.now);
}

TEST_CASE("of several keys each gets its expiry back") {
    connected_world w(either_options_for(3));
    const auto e = w.acquire_all({"a", "b"}, {.ttl = 9s});
    REQUIRE(w.run_until_over(*e));
    REQUIRE(e->outcome() == error_code{});
    w.run_for(1ms);
    persist(w, "b");
    w.run_for(4s);
    CHECK(all_expire_within(w, "a", 9s));
    CHECK(all_expire_within(w, "b", 9s));
}

TEST_CASE("a key that readers share lives as long as the last of them, and no longer") {
    connected_world w(fenced_options_for(3));
    const auto longest = w.granted("r", {.ttl = 50s, .renew = false, .mode = lock_mode::shared});
    const auto renewed = w.granted("r", {.ttl = 9s, .mode = lock_mode::shared});
    REQUIRE(longest->held);
    REQUIRE(renewed->held);
    w.run_for(1ms);
    persist(w, "r");
    w.run_for(4s);
    CHECK(all_expire_within(w, "r", 50s));
    for (const std::int64_t ms : said(w, {"PTTL", "r"})) CHECK(ms > 40'000);
    CHECK(longest->held.valid_until() > w.now);
}

TEST_CASE("somebody else's key without expiry keeps that") {
    connected_world w(fenced_options_for(3));
    w.take_elsewhere("r", 3);
    persist(w, "r");
    CHECK(w.granted("r")->outcome() == errc::contended);
    w.run_for(4s);
    CHECK(said(w, {"PTTL", "r"}) == std::vector<std::int64_t>{-1, -1, -1});
}

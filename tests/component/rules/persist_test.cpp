// Tests that a holder's renewal gives its own key back the expiry that somebody took away; knows no
// socket.
// SPDX-License-Identifier: MIT
#include "component/support/memory_cluster.hpp"
#include "support/catch.hpp"

#include <redlock/error.hpp>

#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;
using namespace std::chrono_literals;

namespace {

void persist(memory_cluster& nodes, const std::string& key) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        REQUIRE(nodes.ask(i).command({"PERSIST", key}).number == 1);
        REQUIRE(nodes.ask(i).pttl(key) == -1ms);
    }
}

bool all_expire_within(memory_cluster& nodes, const std::string& key,
                       std::chrono::milliseconds ttl) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const auto left = nodes.ask(i).pttl(key);
        if (left <= 0ms || left > ttl) return false;
    }
    return true;
}

}  // namespace

TEST_CASE("a renewal gives its own key its expiry back, whatever the kind of lock") {
    const bool fencing = GENERATE(true, false);
    memory_cluster nodes(3);
    memory_driver d(nodes.options(fencing));
    acquire_options how{.ttl = 9s};
    std::vector<std::string> keys{"r"};
    SECTION("exclusive") {}
    if (fencing) {
        SECTION("shared") { how.mode = lock_mode::shared; }
        SECTION("a slot") {
            how.slots = 1;
            keys = {"r#0"};
        }
    }
    const auto got = d.acquire("r", how);
    REQUIRE(got.error() == error_code{});
    for (const auto& key : keys) persist(nodes, key);
    d.pass(4s);
    for (const auto& key : keys) CHECK(all_expire_within(nodes, key, 9s));
    CHECK(got.value());
}

TEST_CASE("of several keys each gets its expiry back") {
    memory_cluster nodes(3);
    memory_driver d(nodes.options(GENERATE(true, false)));
    memory_driver::granted got;
    d.client().async_acquire_all({"a", "b"}, {.ttl = 9s}, got.handler());
    got = d.finish(got);
    REQUIRE(got.error() == error_code{});
    persist(nodes, "b");
    d.pass(4s);
    CHECK(all_expire_within(nodes, "a", 9s));
    CHECK(all_expire_within(nodes, "b", 9s));
}

TEST_CASE("a key that readers share lives as long as the last of them, and no longer") {
    memory_cluster nodes(3);
    memory_driver d(nodes.options());
    const auto longest = d.acquire("r", {.ttl = 50s, .renew = false, .mode = lock_mode::shared});
    const auto renewed = d.acquire("r", {.ttl = 9s, .mode = lock_mode::shared});
    REQUIRE(longest.value());
    REQUIRE(renewed.value());
    persist(nodes, "r");
    d.pass(4s);
    CHECK(all_expire_within(nodes, "r", 50s));
    for (std::size_t i = 0; i < 3; ++i) CHECK(nodes.ask(i).pttl("r") > 40s);
    CHECK(longest.value());
}

TEST_CASE("somebody else's key without expiry keeps that") {
    memory_cluster nodes(3);
    memory_driver d(nodes.options());
    d.inspect("nothing");
    for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).set("r", "theirs");
    CHECK(d.acquire("r").error() == errc::contended);
    for (std::size_t i = 0; i < 3; ++i) CHECK(nodes.ask(i).pttl("r") == -1ms);
}

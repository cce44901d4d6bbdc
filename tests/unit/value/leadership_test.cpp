// Which leader a resource's state shows, what counts as a change, and how often an observer looks.
// SPDX-License-Identifier: MIT
#include "value/leadership.hpp"

#include "tests/support/catch.hpp"

#include <cstdint>
#include <optional>

using namespace redlock;
using namespace redlock::detail;
using namespace std::chrono_literals;

namespace {

resource_state held_by(const char* owner, std::uint64_t fence = 7) {
    resource_state s;
    s.decided = true;
    s.held = true;
    s.owner = owner;
    s.fence = fence;
    s.held_for = 3s;
    return s;
}

std::optional<leader_info> leader(const char* name, std::uint64_t fence) {
    leader_info out;
    out.name = name;
    out.fence = fence;
    return out;
}

}  // namespace

TEST_CASE("the leader is the client that holds the resource", "[leadership]") {
    const auto found = leader_of(held_by("AbCdEf...@host-1:4711"));
    REQUIRE(found.has_value());
    REQUIRE(*found);
    CHECK((*found)->name == "host-1:4711");
    CHECK((*found)->note.empty());
    CHECK((*found)->fence == 7);
    CHECK((*found)->since == 3s);
    // Behind an owner that the caller gave stands a random number.
    CHECK(leader_of(held_by("AbCdEf...@host-1:4711#0123456789abcdef")).value()->name ==
          "host-1:4711");
    CHECK(leader_of(held_by("another libra...", 0)).value()->name.empty());
    resource_state noted = held_by("AbCdEf...@host-1:4711");
    noted.note = "shard 7";
    CHECK(leader_of(noted).value()->note == "shard 7");
    auto fresh = held_by("AbCdEf...@p");
    fresh.held_for.reset();
    CHECK(leader_of(fresh).value()->since == 0ms);
}

TEST_CASE("nobody leads what is free, kept, or read", "[leadership]") {
    resource_state s;
    s.decided = true;
    s.fence = 9;
    CHECK_FALSE(leader_of(s).value());
    s.kept = true;
    s.owner = "AbCdEf...@p";
    CHECK_FALSE(leader_of(s).value());
    CHECK_FALSE(leader_of(held_by("")).value());  // readers have no one owner
}

TEST_CASE("too few answers name no leader and no vacancy", "[leadership]") {
    const auto found = leader_of(resource_state{});
    REQUIRE(found.has_error());
    CHECK(found.error() == errc::no_quorum);
}

TEST_CASE("a change is another leader, another term, or none", "[leadership]") {
    const auto a = leader("a", 1);
    CHECK_FALSE(is_change(a, a));
    CHECK_FALSE(is_change(std::nullopt, std::nullopt));
    CHECK(is_change(a, std::nullopt));
    CHECK(is_change(std::nullopt, a));
    CHECK(is_change(a, leader("a", 2)));
    CHECK(is_change(a, leader("b", 1)));
    auto later = a;
    later->since = 5s;
    CHECK_FALSE(is_change(a, later));
    auto noted = a;
    noted->note = "draining";
    CHECK(is_change(a, noted));
}

TEST_CASE("a campaign without a limit waits a year, for one holder alone", "[leadership]") {
    acquire_options how{.ttl = 4s, .mode = lock_mode::shared, .slots = 3};
    const auto without_limit = candidacy(how);
    CHECK(without_limit.wait == std::chrono::hours(24 * 365));
    CHECK(without_limit.mode == lock_mode::exclusive);
    CHECK(without_limit.slots == 0);
    CHECK(without_limit.ttl == 4s);
    how.wait = 5ms;
    CHECK(candidacy(how).wait == 5ms);
}

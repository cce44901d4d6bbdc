// Giving leases back on real servers: what is gone, what is left alone; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/founded.hpp"

#include <redlock/error.hpp>

using namespace redlock;
using namespace redlock::testing;

TEST_CASE("a released key is gone on every node", "[release]") {
    cluster nodes(5);
    driver d(nodes.options(GENERATE(true, false)));
    for (int i = 0; i < 20; ++i) {
        auto got = d.acquire("r", {.ttl = 60s});
        REQUIRE(got.error() == error_code{});
        REQUIRE(d.release(std::move(got.value())) == error_code{});
        CHECK_FALSE(got.value());
        REQUIRE(d.until([&] { return nodes.holding("r") == 0; }));
    }
    CHECK(d.client().stats().released == 20);
    CHECK(d.client().stats().leases == 0);
}

TEST_CASE("a plain lock is given back without a script where the server has a command for that",
          "[release][servers]") {
    cluster nodes(3, durable);
    const auto known = nodes.ask(0).command({"COMMAND", "INFO", "delifeq"});
    const bool has_command = !known.items.empty() && known.items[0].type != reply::kind::nil;
    bool has_right = true;
    SECTION("that the user may call") {}
    SECTION("that is forbidden to the user") {
        if (!has_command) return;
        for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).acl_setuser({"default", "-delifeq"});
        has_right = false;
    }
    driver d(nodes.options(false));
    for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).reset_calls();
    for (int i = 0; i < 2; ++i) {
        auto got = d.acquire("r", {.ttl = 60s});
        REQUIRE(got.error() == error_code{});
        REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
        CHECK(d.release(std::move(got.value())) == error_code{});
        REQUIRE(d.until([&] { return nodes.holding("r") == 0; }));
    }
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(nodes.ask(i).calls("delifeq") == (has_command && has_right ? 2 : 0));
        CHECK(nodes.ask(i).calls("evalsha") == (has_command && has_right ? 0 : 2));
    }
    // What is given back in the background is free for the acquire that leaves with it.
    for (int i = 0; i < 4; ++i) CHECK(d.acquire("next", {.ttl = 60s}).error() == error_code{});
    auto owed = d.acquire("r", {.ttl = 60s});
    REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
    nodes.kill(2);
    CHECK(d.release(std::move(owed.value())) == error_code{});
    nodes.restart(2);
    CHECK(d.until([&] { return nodes.holding("r") == 0; }, 10s));
}

TEST_CASE("a node that answers late gets the release behind its acquire", "[release]") {
    founded_cluster nodes(3);
    auto options = nodes.options();
    options.node_timeout = 1s;
    driver d(options);
    nodes.stop(2);
    auto got = d.acquire("r", {.ttl = 60s});
    REQUIRE(got.error() == error_code{});
    CHECK(d.release(std::move(got.value())) == error_code{});
    SECTION("on the same connection") { nodes.cont(2); }
    SECTION("on the next connection") {
        d.await_down("n2");  // it was given up
        nodes.cont(2);
    }
    d.await_up("n2");
    CHECK(d.until([&] { return nodes.holding("r") == 0; }));
    // The stopped node took the key before it let it go, or never got that far.
    CHECK(d.acquire("r").error() == error_code{});
}

TEST_CASE("a node that comes back with the key is cleaned on reconnection", "[release]") {
    cluster nodes(3, durable);
    driver d(nodes.options(GENERATE(true, false)));
    auto got = d.acquire("r", {.ttl = 60s});
    REQUIRE(got.error() == error_code{});
    REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
    nodes.kill(2);
    SECTION("released by hand") {
        CHECK(d.release(std::move(got.value())) == error_code{});
    }
    SECTION("released by the destructor") { got.value() = lease{}; }
    REQUIRE(d.until([&] { return nodes.holding("r") == 0; }));
    nodes.restart(2);
    CHECK(d.until([&] { return nodes.holding("r") == 0; }, 10s));
    CHECK(d.client().stats().owed_releases >= 1);
    CHECK(d.log().count(event_kind::release_owed) >= 1);
}

TEST_CASE("a release deletes no key of another owner", "[release][servers]") {
    cluster nodes(3);
    driver d(nodes.options(GENERATE(true, false)));
    auto got = d.acquire("r", {.ttl = 60s, .renew = false});
    REQUIRE(got.error() == error_code{});
    REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
    SECTION("on a quorum: not_held") {
        nodes.ask(0).set("r", "foreign");
        nodes.ask(2).set("r", "foreign");
        const auto error = d.release(std::move(got.value()));
        CHECK(error == errc::not_held);
        CHECK(error == condition::ownership);
        CHECK(d.until([&] { return nodes.holding("r") == 2; }));
        CHECK(nodes.ask(0).get("r") == "foreign");
        CHECK(nodes.ask(2).get("r") == "foreign");
    }
    SECTION("on a minority: ours is released") {
        nodes.ask(1).set("r", "foreign");
        CHECK(d.release(std::move(got.value())) == error_code{});
        CHECK(d.until([&] { return nodes.holding("r") == 1; }));
        CHECK(nodes.ask(1).get("r") == "foreign");
    }
}

TEST_CASE("no key on a quorum is not_held", "[release][servers]") {
    cluster nodes(3);
    driver d(nodes.options(GENERATE(true, false)));
    auto got = d.acquire("r", {.ttl = 60s, .renew = false});
    REQUIRE(got.error() == error_code{});
    REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
    nodes.ask(0).del("r");
    nodes.ask(1).del("r");
    CHECK(d.release(std::move(got.value())) == errc::not_held);
    CHECK(d.until([&] { return nodes.holding("r") == 0; }));
}

TEST_CASE("without a quorum of answers it is no_quorum, and owed", "[release][servers]") {
    cluster nodes(3, durable);
    driver d(nodes.options(GENERATE(true, false)));
    auto got = d.acquire("r", {.ttl = 60s});
    REQUIRE(got.error() == error_code{});
    REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
    nodes.kill(0);
    nodes.kill(1);
    const auto error = d.release(std::move(got.value()));
    CHECK(error == errc::no_quorum);
    CHECK(d.until([&] { return nodes.holding("r") == 0; }));
    nodes.restart(0);
    nodes.restart(1);
    CHECK(d.until([&] { return nodes.holding("r") == 0; }));
}

TEST_CASE("what is no lease of this client cannot be released through it", "[release]") {
    cluster nodes(3);
    driver d(nodes.options(GENERATE(true, false)));
    CHECK(d.release(lease{}) == errc::invalid_argument);
    driver other(nodes.options());
    auto got = d.acquire("r", {.ttl = 60s});
    REQUIRE(got.error() == error_code{});
    CHECK(other.release(std::move(got.value())) == errc::invalid_argument);
    // The lease went with the call: its own client gives it back.
    CHECK(d.until([&] { return nodes.holding("r") == 0; }));
}

TEST_CASE("a closed client has given its leases back", "[release]") {
    cluster nodes(3);
    driver d(nodes.options(GENERATE(true, false)));
    auto got = d.acquire("r", {.ttl = 60s});
    auto detached = d.acquire("s", {.ttl = 60s});
    REQUIRE(got.value());
    REQUIRE(detached.value());
    REQUIRE(d.until([&] { return nodes.holding("s") == 3; }));
    detached.value().detach();
    CHECK_FALSE(detached.value());
    SECTION("by close") { d.client().close(); }
    SECTION("by its destructor") { d.destroy_client(); }
    CHECK(d.until([&] { return nodes.holding("r") == 0; }));
    CHECK_FALSE(got.value());
    CHECK(got.value().remaining() == 0ms);
    CHECK(nodes.holding("s") == 3);
}


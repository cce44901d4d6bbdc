// Leases that go from one client to another by their token, on real servers; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/error.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

outcome<lease> adopt_with(driver& d, const std::string& token, acquire_options options = {}) {
    outcome<lease> result;
    d.client().async_adopt(token, options, result.handler());
    return d.finish(std::move(result));
}

// A program that acquires, and is gone: what it leaves is the token, and the keys.
std::string token_left_behind(cluster& nodes, const std::string& resource,
                              acquire_options options) {
    driver program(nodes.options());
    auto got = program.acquire(resource, options);
    INFO(text_of(got.value()));
    REQUIRE(got.error() == error_code{});
    std::string token = got.value().token();
    CHECK_FALSE(token.empty());
    got.value().detach();
    CHECK(got.value().token().empty());
    return token;
}

}  // namespace

TEST_CASE("a lease is prolonged and released by a program that did not acquire it", "[adopt]") {
    cluster nodes(3);
    std::uint64_t fence = 0;
    std::string token;
    {
        driver program(nodes.options());
        auto got = program.acquire("r", {.ttl = 5s});
        REQUIRE(got.error() == error_code{});
        fence = got.value().fence();
        token = got.value().token();
        got.value().detach();
    }
    CHECK(nodes.holding("r") == 3);
    driver other(nodes.options());
    auto held = adopt_with(other, token, {.ttl = 20s});
    INFO(text_of(held.value()));
    REQUIRE(held.error() == error_code{});
    CHECK(held.value());
    CHECK(held.value().resource() == "r");
    CHECK(held.value().fence() == fence);
    CHECK(held.value().token() == token);
    CHECK(held.value().remaining() > 15s);
    CHECK(held.value().remaining() <= 20s);
    CHECK(nodes.ask(0).pttl("r") > 15s);
    CHECK(other.extend(held.value(), 30s) == error_code{});
    CHECK(held.value().remaining() > 25s);
    CHECK(other.release(std::move(held.value())) == error_code{});
    CHECK(other.until([&] { return nodes.holding("r") == 0; }));
    // What the first program may have sent can't take the key any more, wherever it was held up.
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(std::stoull(nodes.ask(i).get("{r}:fence").value()) > fence);
    }
    SECTION("and the token is used up") {
        CHECK(adopt_with(other, token).error() == errc::not_held);
        CHECK(nodes.keys() == 0);
    }
    SECTION("the next holder's fence is higher, and the token does not touch its keys") {
        auto next = other.acquire("r", {.ttl = 20s});
        REQUIRE(next.error() == error_code{});
        CHECK(next.value().fence() > fence);
        const auto refused = adopt_with(other, token);
        CHECK(refused.error() == errc::not_held);
        CHECK_FALSE(refused.value());
        REQUIRE(refused.value().votes().size() == 3);
        const auto votes = refused.value().votes();
        CHECK(std::count_if(votes.begin(), votes.end(), [](const node_vote& v) {
                  return v.error == errc::not_held;
              }) >= 2);
        CHECK(nodes.holding("r") == 3);
        CHECK(next.value());
    }
}

TEST_CASE("an adopted lease is renewed, and lost, as any other", "[adopt]") {
    cluster nodes(3);
    const auto token = token_left_behind(nodes, "r", {.ttl = 6s});
    driver other(nodes.options());
    auto held = adopt_with(other, token, {.ttl = 6s});
    REQUIRE(held.error() == error_code{});
    CHECK(other.until([&] { return other.client().stats().renewals >= 2; }));
    CHECK(held.value());
    auto lost = other.start_lost(held.value());
    for (std::size_t i = 0; i < 2; ++i) nodes.ask(i).set("r", "somebody else");
    CHECK(other.until([&] { return lost.done(); }));
    CHECK(lost.value() == loss::taken);
}

TEST_CASE("a lease is adopted with a minority of the nodes down, and with none more", "[adopt]") {
    cluster nodes(3);
    const auto token = token_left_behind(nodes, "r", {.ttl = 20s});
    nodes.kill(0);
    driver other(nodes.options(), 2);
    auto held = adopt_with(other, token, {.ttl = 20s});
    INFO(text_of(held.value()));
    REQUIRE(held.error() == error_code{});
    held.value().detach();
    nodes.stop(1);
    const auto refused = adopt_with(other, token, {.ttl = 20s});
    CHECK(refused.error() == errc::no_quorum);
    nodes.cont(1);
    CHECK(nodes.holding("r") == 2);
}

TEST_CASE("what a quorum lost is not adopted, and not taken again", "[adopt]") {
    cluster nodes(3);
    const auto token = token_left_behind(nodes, "r", {.ttl = 20s});
    driver other(nodes.options());
    nodes.ask(0).del("r");
    SECTION("a minority lost it") {
        auto held = adopt_with(other, token, {.ttl = 20s});
        REQUIRE(held.error() == error_code{});
        held.value().detach();
        CHECK_FALSE(nodes.ask(0).exists("r"));
    }
    SECTION("a quorum lost it") {
        nodes.ask(1).del("r");
        CHECK(adopt_with(other, token, {.ttl = 20s}).error() == errc::not_held);
        CHECK(other.until([&] { return nodes.keys() == 0; }));  // what was left of it is released
    }
}

TEST_CASE("the keys are never made to expire earlier by an adoption", "[adopt]") {
    cluster nodes(3);
    const auto token = token_left_behind(nodes, "r", {.ttl = 30s});
    driver other(nodes.options());
    auto held = adopt_with(other, token, {.ttl = 1s, .renew = false});
    REQUIRE(held.error() == error_code{});
    CHECK(held.value().remaining() <= 1s);
    CHECK(nodes.ask(0).pttl("r") > 20s);
    held.value().detach();
}

TEST_CASE("each kind of lease goes to another program", "[adopt]") {
    cluster nodes(3);
    acquire_options how{.ttl = 20s};
    SECTION("a slot") {
        how.slots = 3;
        const auto token = token_left_behind(nodes, "r", how);
        driver other(nodes.options());
        auto held = adopt_with(other, token, {.ttl = 20s});
        REQUIRE(held.error() == error_code{});
        const std::string key = "r#" + std::to_string(held.value().slot());
        CHECK(nodes.holding(key) == 3);
        CHECK(other.release(std::move(held.value())) == error_code{});
        CHECK(other.until([&] { return nodes.holding(key) == 0; }));
    }
    SECTION("a reader's, beside another reader") {
        how.mode = lock_mode::shared;
        const auto token = token_left_behind(nodes, "r", how);
        driver other(nodes.options());
        auto beside = other.acquire("r", how);
        REQUIRE(beside.error() == error_code{});
        auto held = adopt_with(other, token, {.ttl = 20s});
        REQUIRE(held.error() == error_code{});
        CHECK(other.release(std::move(held.value())) == error_code{});
        CHECK(nodes.holding("r") == 3);
        CHECK(adopt_with(other, token).error() == errc::not_held);
        CHECK(other.release(std::move(beside.value())) == error_code{});
        CHECK(other.until([&] { return nodes.keys() == 0; }));
    }
    SECTION("of several resources") {
        std::string token;
        {
            driver program(nodes.options());
            outcome<lease> got;
            program.client().async_acquire_all(resource_list("a", "b", "c"), how, got.handler());
            got = program.finish(std::move(got));
            REQUIRE(got.error() == error_code{});
            token = got.value().token();
            got.value().detach();
        }
        driver other(nodes.options());
        auto held = adopt_with(other, token, {.ttl = 20s});
        REQUIRE(held.error() == error_code{});
        CHECK(held.value().resources().size() == 3);
        CHECK(other.release(std::move(held.value())) == error_code{});
        CHECK(other.until([&] { return nodes.keys() == 0; }));
    }
    SECTION("one that has to be kept for a while stays when it is released") {
        how.min_hold = 40s;
        const auto token = token_left_behind(nodes, "r", how);
        driver other(nodes.options());
        auto held = adopt_with(other, token, {.ttl = 5s});
        REQUIRE(held.error() == error_code{});
        CHECK(other.release(std::move(held.value())) == error_code{});
        CHECK(nodes.holding("r") == 3);
        CHECK(nodes.ask(0).pttl("r") > 30s);
    }
}

TEST_CASE("a lease without a fence goes to another program with fencing off alone", "[adopt]") {
    cluster nodes(3);
    auto plain = nodes.options();
    plain.fencing = false;
    std::string token;
    {
        driver program(plain);
        auto got = program.acquire("r", {.ttl = 20s});
        REQUIRE(got.error() == error_code{});
        token = got.value().token();
        got.value().detach();
    }
    {
        driver fenced(nodes.options());
        CHECK(adopt_with(fenced, token).error() == errc::invalid_argument);
    }
    driver other(plain);
    auto held = adopt_with(other, token, {.ttl = 20s});
    REQUIRE(held.error() == error_code{});
    CHECK(other.release(std::move(held.value())) == error_code{});
    CHECK(other.until([&] { return nodes.keys() == 0; }));
}

TEST_CASE("an invalid token or ttl is refused, no request is sent, and no event shows the token",
          "[adopt]") {
    cluster nodes(1);
    const auto token = token_left_behind(nodes, "r", {.ttl = 20s});
    driver other(nodes.options());
    const auto before = nodes.ask(0).calls("evalsha");
    for (const std::string& wrong :
         {std::string(), std::string("redlock1."), token.substr(1), token + "0", token + token}) {
        CHECK(adopt_with(other, wrong).error() == errc::invalid_argument);
    }
    CHECK(adopt_with(other, token, {.ttl = 25h}).error() == errc::invalid_argument);
    CHECK(nodes.ask(0).calls("evalsha") == before);
    CHECK(nodes.holding("r") == 1);
    // The token is a secret.
    CHECK(other.log().count(event_kind::refused) == 6);
    for (const auto& e : other.log().all()) CHECK(e.text.find(token) == e.text.npos);
}

TEST_CASE("a program without an event loop adopts a lease, too", "[adopt]") {
    cluster nodes(3);
    const auto token = token_left_behind(nodes, "r", {.ttl = 20s});
    blocking_client other(nodes.options());
    auto held = other.adopt(token, {.ttl = 20s});
    REQUIRE(held.has_value());
    CHECK(held->resource() == "r");
    CHECK(other.release(std::move(*held)).has_value());
    const auto again = other.adopt(token, {.ttl = 20s});
    REQUIRE_FALSE(again.has_value());
    CHECK(again.error().code == errc::not_held);
}

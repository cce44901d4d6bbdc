// Leases that their holders share, on real servers, with waiters of other clients; knows no
// internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/founded.hpp"
#include "support/waiting.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/client.hpp>
#include <redlock/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

constexpr acquire_options waiting_to_read{.ttl = 60s, .wait = 60s, .mode = lock_mode::shared};
constexpr acquire_options waiting_to_write{.ttl = 60s, .wait = 60s};

std::size_t nodes_that_share(cluster& nodes) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        n += nodes[i].reachable() && nodes.ask(i).get("r") == "redlock:shared" ? 1U : 0U;
    }
    return n;
}

bool is_free(cluster& nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes.ask(i).exists("r") || nodes.ask(i).exists("{r}:readers")) return false;
    }
    return true;
}

}  // namespace

TEST_CASE("a writer lets the readers in that wait, and not the writer behind them",
          "[downgrade][servers]") {
    founded_cluster nodes(3);
    blocking_client writer(nodes.options());
    auto held = writer.acquire("r", {.ttl = 60s});
    REQUIRE(held.has_value());
    const auto fence = held->fence();
    const auto owner = held->owner();
    waiting_client a(nodes.options(), waiting_to_read);
    REQUIRE(eventually([&] { return all_know_of(nodes, 1); }));
    waiting_client b(nodes.options(), waiting_to_read);
    REQUIRE(eventually([&] { return all_know_of(nodes, 2); }));
    waiting_client next(nodes.options(), waiting_to_write);
    REQUIRE(eventually([&] { return all_know_of(nodes, 3); }));
    waiting_client behind(nodes.options(), waiting_to_read);
    REQUIRE(eventually([&] { return all_know_of(nodes, 4); }));
    REQUIRE(eventually([&] { return all_are_heard_by(nodes, 4); }));

    // The keys have a minute left: only the word of the change lets them in before that.
    REQUIRE(writer.downgrade(*held).has_value());
    REQUIRE(a.granted());
    REQUIRE(b.granted());
    CHECK(*held);
    CHECK(held->fence() == fence);
    CHECK(held->owner() == owner);
    CHECK(a.fence() > fence);
    CHECK(b.fence() > fence);
    CHECK_FALSE(next.done());
    CHECK_FALSE(behind.done());
    CHECK(writer.release(std::move(*held)).has_value());
    CHECK(a.release());
    CHECK_FALSE(next.done());
    const auto highest = std::max(a.fence(), b.fence());
    CHECK(b.release());
    REQUIRE(next.granted());
    CHECK(next.fence() > highest);
    CHECK_FALSE(behind.done());
    CHECK(next.release());
    REQUIRE(behind.granted());
    CHECK(behind.release());
    CHECK(eventually([&] { return is_free(nodes); }));
}

TEST_CASE("a node that is down meanwhile comes to share the lease, and keeps nothing of it",
          "[downgrade]") {
    founded_cluster nodes(3);
    driver d(nodes.options());
    auto got = d.acquire("r", {.ttl = 9s});
    REQUIRE(got.error() == error_code{});
    REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
    nodes.stop(2);
    REQUIRE(d.downgrade(got.value()) == error_code{});
    CHECK(nodes_that_share(nodes) == 2);
    CHECK(d.downgrade(got.value()) == error_code{});
    nodes.cont(2);
    REQUIRE(d.until([&] { return nodes_that_share(nodes) == 3; }));
    CHECK(got.value());
    CHECK(d.release(std::move(got.value())) == error_code{});
    CHECK(d.until([&] { return is_free(nodes); }));
}

TEST_CASE("a program that dies after the change keeps writers out for its ttl, and no readers",
          "[downgrade]") {
    founded_cluster nodes(3);
    auto options = nodes.options();
    driver other(nodes.options());
    {
        auto dying = std::make_unique<driver>(options);
        auto got = dying->acquire("r", {.ttl = 3s, .renew = false});
        REQUIRE(got.error() == error_code{});
        REQUIRE(dying->downgrade(got.value()) == error_code{});
        got.value().detach();
    }
    auto beside = other.acquire("r", {.ttl = 20s, .mode = lock_mode::shared});
    REQUIRE(beside.error() == error_code{});
    CHECK(other.acquire("r", {.ttl = 5s}).error() == errc::contended);
    CHECK(other.release(std::move(beside.value())) == error_code{});
    CHECK(other.acquire("r", {.ttl = 5s, .wait = 20s}).error() == error_code{});
}

TEST_CASE("an operator sees a lease that was shared as a reader, and takes it", "[downgrade]") {
    cluster nodes(3);
    driver d(nodes.options());
    auto got = d.acquire("r", {.ttl = 3s});
    REQUIRE(got.error() == error_code{});
    REQUIRE(d.downgrade(got.value()) == error_code{});
    REQUIRE(d.until([&] { return nodes_that_share(nodes) == 3; }));
    auto lost = d.start_lost(got.value());
    auto seen = d.inspect("r");
    CHECK(seen.value().held);
    CHECK(seen.value().owner.empty());
    REQUIRE(seen.value().readers.size() == 1);
    outcome<revocation> revoked;
    d.client().async_revoke(seen.value(), revoked.handler());
    CHECK(d.finish(std::move(revoked)).error() == error_code{});
    REQUIRE(d.until([&] { return lost.done(); }));
    CHECK(lost.value() == loss::taken);
    CHECK(is_free(nodes));
}

TEST_CASE("a note goes on with a lease that was shared", "[downgrade]") {
    founded_cluster nodes(3);
    blocking_client writer(nodes.options());
    auto held = writer.acquire("r", {.ttl = 60s, .note = "loads"});
    REQUIRE(held.has_value());
    REQUIRE(eventually([&] { return nodes.holding("r") == nodes.size(); }));
    const std::string value = nodes.ask(0).get("r").value();
    REQUIRE(writer.downgrade(*held).has_value());
    REQUIRE(eventually([&] { return nodes_that_share(nodes) == 3; }));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        CHECK(nodes.ask(i).command({"ZSCORE", "{r}:readers", value}).text != "");
    }
    CHECK(writer.inspect("r").value().reader_notes == std::vector<std::string>{"loads"});
    REQUIRE(writer.release(std::move(*held)).has_value());
    REQUIRE(eventually([&] { return is_free(nodes); }));
}

TEST_CASE("what can't be shared is refused, by either client", "[downgrade]") {
    cluster nodes(3);
    blocking_client client(nodes.options(GENERATE(true, false)));
    auto held = client.acquire("r");
    REQUIRE(held.has_value());
    CHECK((client.downgrade(lease{}).error() == errc::invalid_argument));
    if (client.options().fencing) {
        CHECK_FALSE(held->token().empty());
        CHECK((client.downgrade(*held).error() == errc::invalid_argument));
        auto both = client.acquire_all({"a", "b"});
        REQUIRE(both.has_value());
        CHECK((client.downgrade(*both).error() == errc::invalid_argument));
    } else {
        CHECK((client.downgrade(*held).error() == errc::invalid_argument));
    }
    CHECK(*held);
    CHECK(client.release(std::move(*held)).has_value());
}

// Keys that no client would release: thawed servers, closed clients; on real servers, knows no
// internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/founded.hpp"
#include "support/waiting.hpp"

#include <redlock/error.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

/// A client of a process that is to die: it goes without another handler, and its kernel closes the
/// connections.
struct mortal {
    explicit mortal(const client_options& options) : user(context.get_executor(), options) {}

    lease acquire(const std::string& resource, const acquire_options& how) {
        outcome<lease> got;
        user.async_acquire(resource, how, got.handler());
        REQUIRE(run_until(context, [&] { return got.done(); }));
        REQUIRE(got.error() == error_code{});
        return std::move(got.value());
    }

    asio::io_context context;
    client user;
};

}  // namespace

TEST_CASE("a node that goes on after its client has died takes no key for it", "[litter]") {
    founded_cluster nodes(3);
    auto options = nodes.options();
    options.node_timeout = 250ms;  // a command is good for four of these
    constexpr auto good_for = 1s;
    auto client = std::make_unique<mortal>(options);
    lease held;
    SECTION("that acquired") {
        const lease first = client->acquire("first", {.ttl = 20s, .wait = 10s});
        nodes.stop(0);
        held = client->acquire("r", {.ttl = 20s, .wait = 10s});
    }
    SECTION("that renewed") {
        held = client->acquire("r", {.ttl = 3s, .wait = 10s});
        nodes.stop(0);
        const auto before = client->user.stats().renewals;
        // The key has run out on the node, and each renewal would take it again.
        CHECK(run_until(client->context,
                        [&] { return client->user.stats().renewals >= before + 4; }));
    }
    client.reset();
    std::this_thread::sleep_for(good_for + 500ms);
    nodes.cont(0);
    // What lay in its sockets is executed before it sees the end of them.
    auto asked = nodes.ask(0);
    REQUIRE(eventually([&] { return asked.clients_named("test") == 0; }));
    CHECK_FALSE(asked.exists("r"));
}

namespace {

// False where releases were given up: a server that stands still for too long is not waited for.
bool closes_with_thousands_of_leases(bool is_waited_for) {
    founded_cluster nodes(3);
    auto options = nodes.options();
    options.node_timeout = 300ms;  // much less than so many releases take, all together
    event_log log;
    log.attach(options);
    asio::io_context context;
    client user(context.get_executor(), options);
    std::vector<lease> held;
    constexpr std::size_t leases = 10'000;
    std::size_t ended = 0;
    for (std::size_t i = 0; i < leases; ++i) {
        user.async_acquire("r" + std::to_string(i), {.ttl = 60s, .wait = 60s, .renew = false},
                           [&](error_code, lease got) {
                               ++ended;
                               if (got) held.push_back(std::move(got));
                           });
    }
    REQUIRE(run_until(context, [&] { return ended == leases; }, 100s));
    CHECK(held.size() == leases);
    CHECK(nodes.keys() >= 2 * leases);
    outcome<> closed;
    if (is_waited_for) {
        user.async_close(closed.handler());
    } else {
        user.close();
    }
    context.restart();
    context.run_for(100s);
    CHECK(context.stopped());
    CHECK(closed.done() == is_waited_for);
    CHECK(closed.error() == error_code{});
    if (log.count(event_kind::releases_given_up) != 0) return false;
    CHECK(nodes.keys() == 0);
    return true;
}

}  // namespace

TEST_CASE("a client that closes with thousands of leases leaves no key", "[litter]") {
    const bool is_waited_for = GENERATE(true, false);
    CHECK(once_in_three([&] { return closes_with_thousands_of_leases(is_waited_for); }));
}

TEST_CASE("what a closed client gives up is reported with node, count and cause", "[litter]") {
    cluster nodes(3);
    auto options = nodes.options();
    options.node_timeout = 500ms;
    driver d(options);
    auto a = d.acquire("a", {.ttl = 30s, .wait = 10s});
    auto b = d.acquire("b", {.ttl = 30s, .wait = 10s});
    REQUIRE(a.value());
    REQUIRE(b.value());
    nodes.stop(0);
    SECTION("one node hangs") {
        outcome<> closed;
        d.client().async_close(closed.handler());
        CHECK(d.finish(closed).error() == error_code{});
        for (const auto& e : d.log().all()) {
            if (e.kind != event_kind::releases_given_up) continue;
            CHECK(e.node == "n0");
            CHECK(e.error == errc::timed_out);
            CHECK(e.detail.find("2 releases") != std::string::npos);
        }
        CHECK(d.log().count(event_kind::releases_given_up) == 1);
    }
    SECTION("most do") {
        nodes.stop(1);
        outcome<> first;
        outcome<> second;
        d.client().async_close(first.handler());
        d.client().async_close(second.handler());
        CHECK(d.finish(first).error() == errc::no_quorum);
        CHECK(d.finish(second).error() == errc::no_quorum);
        CHECK(d.log().count(event_kind::releases_given_up) == 2);
    }
    SECTION("the client is destroyed before it is over") {
        outcome<> closed;
        d.client().async_close(closed.handler());
        d.destroy_client();
        CHECK(d.finish(closed).error() == error_code{});
    }
    SECTION("async_close is cancelled, and the closing goes on") {
        outcome<> closed;
        d.client().async_close(closed.handler());
        closed.cancel();
        CHECK(d.finish(closed).error() == asio::error::operation_aborted);
        CHECK(d.until([&] { return d.log().count(event_kind::releases_given_up) == 1; }));
    }
}

// Cancelling at every moment, on real servers: it ends at once and leaves no key.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/hostile_server.hpp"
#include "support/run.hpp"

#include <redlock/error.hpp>

using namespace redlock;
using namespace redlock::testing;

TEST_CASE("an acquire may be cancelled at every step", "[cancel]") {
    cluster nodes(3);
    driver d(nodes.options());
    bool cancelled = false;
    bool granted = false;
    // A busy machine takes more of them for a grant.
    for (int steps = 0; steps < 30 || !granted; ++steps) {
        CAPTURE(steps);
        REQUIRE(steps < 1'000);
        auto trying = d.start_acquire("r", {.ttl = 60s});
        for (int i = 0; i < steps; ++i) d.context().run_one_for(1ms);
        trying.cancel();
        d.finish(trying);
        if (trying.error() == error_code{}) {
            granted = true;
            CHECK(trying.value());
            CHECK(d.release(std::move(trying.value())) == error_code{});
        } else {
            cancelled = true;
            CHECK(trying.error() == asio::error::operation_aborted);
            CHECK_FALSE(trying.value());
        }
        REQUIRE(d.until([&] { return nodes.holding("r") == 0; }, 10s));
    }
    CHECK(cancelled);
    CHECK(granted);
}

TEST_CASE("every type of cancellation ends an acquire", "[cancel]") {
    cluster nodes(3);
    driver d(nodes.options());
    for (std::size_t i = 0; i < 3; ++i) nodes.stop(i);
    using type = asio::cancellation_type;
    for (const auto kind : {type::terminal, type::partial, type::total}) {
        auto trying = d.start_acquire("r", {.ttl = 60s, .wait = 60s});
        d.context().poll();
        trying.cancel(kind);
        CHECK(d.until([&] { return trying.done(); }, 5s));
        CHECK(trying.error() == asio::error::operation_aborted);
    }
    CHECK(d.client().stats().cancelled == 3);
    for (std::size_t i = 0; i < 3; ++i) nodes.cont(i);
    CHECK(d.until([&] { return nodes.holding("r") == 0; }));
    CHECK(d.acquire("r", {.ttl = 5s, .wait = 10s}).error() == error_code{});
}

TEST_CASE("a waiter may be cancelled", "[cancel]") {
    cluster nodes(3);
    driver d(nodes.options());
    auto held = d.acquire("r", {.ttl = 60s});
    REQUIRE(held.value());
    for (int i = 0; i < 10; ++i) {
        auto waiting = d.start_acquire("r", {.ttl = 60s, .wait = 60s});
        d.pass(std::chrono::milliseconds(3 * i));
        CHECK_FALSE(waiting.done());
        waiting.cancel();
        CHECK(d.until([&] { return waiting.done(); }, 5s));
        CHECK(waiting.error() == asio::error::operation_aborted);
    }
    CHECK(held.value());
    CHECK(d.release(std::move(held.value())) == error_code{});
    CHECK(d.until([&] { return nodes.holding("r") == 0; }));
}

TEST_CASE("a cancelled acquire whose grants come late leaves no key", "[cancel]") {
    cluster nodes(3);
    auto options = nodes.options(GENERATE(true, false));
    options.node_timeout = 5s;
    options.connect_timeout = 10s;
    driver d(options);
    REQUIRE(d.release(std::move(d.acquire("before").value())) == error_code{});
    for (std::size_t i = 0; i < 3; ++i) {
        nodes.ask(i).reset_calls();
        nodes.stop(i);
    }
    auto trying = d.start_acquire("r", {.ttl = 60s});
    d.pass(20ms);
    trying.cancel();
    CHECK(d.finish(trying).error() == asio::error::operation_aborted);
    d.pass(20ms);
    for (std::size_t i = 0; i < 3; ++i) nodes.cont(i);
    // The fence of a key that was taken stays; without one, nobody else sets anything there.
    REQUIRE(eventually([&] {
        return options.fencing ? nodes.ask(0).exists("{r}:fence") : nodes.ask(0).calls("set") == 1;
    }));
    CHECK(d.until([&] { return nodes.holding("r") == 0; }, 10s));
}

TEST_CASE("cancelling an acquire that is over does nothing", "[cancel]") {
    cluster nodes(3);
    driver d(nodes.options());
    auto got = d.acquire("r", {.ttl = 60s});
    got.cancel();
    d.pass(20ms);
    CHECK(got.value());
    CHECK(nodes.holding("r") == 3);
}

TEST_CASE("a release goes on when it is cancelled", "[cancel]") {
    cluster nodes(3);
    driver d(nodes.options());
    int aborted = 0;
    for (int steps = 0; steps < 10; ++steps) {
        auto got = d.acquire("r", {.ttl = 60s});
        REQUIRE(got.value());
        const auto before = d.client().stats().released;
        auto releasing = d.start_release(std::move(got.value()));
        for (int i = 0; i < steps; ++i) d.context().run_one_for(1ms);
        const bool is_over = d.client().stats().released > before;
        releasing.cancel();
        d.finish(releasing);
        const error_code cancelled = asio::error::operation_aborted;
        CHECK(releasing.error() == (is_over ? error_code{} : cancelled));
        aborted += is_over ? 0 : 1;
        REQUIRE(d.until([&] { return nodes.holding("r") == 0; }, 10s));
    }
    CHECK(aborted > 0);
}

TEST_CASE("a cancelled extension moves no validity", "[cancel]") {
    cluster nodes(3);
    driver d(nodes.options());
    auto got = d.acquire("r", {.ttl = 20s, .renew = false});
    REQUIRE(got.value());
    nodes.stop(0);
    nodes.stop(1);
    const auto before = got.value().valid_until();
    outcome<> extending;
    d.client().async_extend(got.value(), 50s, extending.handler());
    d.pass(20ms);
    extending.cancel();
    CHECK(d.finish(extending).error() == asio::error::operation_aborted);
    nodes.cont(0);
    nodes.cont(1);
    d.pass(100ms);
    CHECK(got.value().valid_until() == before);
    CHECK(got.value());
    CHECK(d.release(std::move(got.value())) == error_code{});
}

TEST_CASE("cancelling all operations of a client leaves its leases", "[cancel]") {
    cluster nodes(3);
    driver d(nodes.options());
    auto held = d.acquire("r", {.ttl = 6s});
    REQUIRE(held.value());
    auto waiting = d.start_acquire("r", {.ttl = 60s, .wait = 60s});
    outcome<loss> losing;
    d.client().async_lost(held.value(), losing.handler());
    outcome<resource_state> inspecting;
    d.client().async_inspect("r", inspecting.handler());
    d.client().cancel();
    CHECK(d.finish(waiting).error() == asio::error::operation_aborted);
    CHECK(d.finish(losing).error() == asio::error::operation_aborted);
    CHECK(d.finish(inspecting).error() == asio::error::operation_aborted);

    // Also while its renewal is under way.
    const auto before = held.value().valid_until();
    CHECK(d.until([&] {
        d.client().cancel();
        return held.value().valid_until() > before + 3s;  // two renewals
    }));
    CHECK(held.value());
    CHECK(d.client().stats().renewal_failures == 0);
    auto next = d.start_acquire("r", {.ttl = 60s, .wait = 60s});
    CHECK(d.release(std::move(held.value())) == error_code{});
    CHECK(d.finish(next).error() == error_code{});

    // A wait for the end of the client, too; the client ends all the same.
    outcome<> closing;
    d.client().async_close(closing.handler());
    d.client().cancel();
    CHECK(d.finish(closing).error() == asio::error::operation_aborted);
    CHECK(d.until([&] { return nodes.holding("r") == 0; }));
}

TEST_CASE("inspecting may be cancelled", "[cancel]") {
    cluster nodes(3);
    driver d(nodes.options());
    for (std::size_t i = 0; i < 3; ++i) nodes.stop(i);
    outcome<resource_state> inspecting;
    d.client().async_inspect("r", inspecting.handler());
    d.pass(20ms);
    inspecting.cancel();
    CHECK(d.finish(inspecting).error() == asio::error::operation_aborted);
}

TEST_CASE("cancelling before anything ran sends nothing that stays", "[cancel]") {
    cluster nodes(3);
    auto options = nodes.options();
    driver d(options, 0);  // not even connected
    auto trying = d.start_acquire("r", {.ttl = 60s});
    trying.cancel();
    CHECK(d.finish(trying).error() == asio::error::operation_aborted);
    d.await_up(3);
    d.pass(50ms);
    CHECK(nodes.holding("r") == 0);
}

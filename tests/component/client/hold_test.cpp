// Leases over time on masters in memory: renewed, lost, detached; knows no engine.
// SPDX-License-Identifier: MIT
#include "component/support/memory_cluster.hpp"
#include "support/catch.hpp"

#include <redlock/error.hpp>

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

using namespace redlock;
using namespace redlock::testing;

namespace {

lease must_acquire(memory_driver& d, acquire_options options) {
    auto got = d.acquire("r", options);
    INFO(text_of(got.value()));
    REQUIRE(got.error() == error_code{});
    return std::move(got.value());
}

// When the lost_token rang.
struct alarm_clock {
    explicit alarm_clock(const lease& held)
        : callback(held.lost_token(), [this] { rang = clock::now(); }) {}
    std::optional<clock::time_point> rang;
    std::stop_callback<std::function<void()>> callback;
};

}  // namespace

TEST_CASE("renewal keeps a lease alive far beyond its ttl", "[hold]") {
    memory_cluster nodes(3);
    memory_driver d(nodes.options(GENERATE(true, false)));
    auto held = must_acquire(d, {.ttl = 5s});
    const auto fence = held.fence();
    while (d.client().stats().renewals < 4) {
        d.pass(50ms);
        REQUIRE(held);
        REQUIRE(nodes.holding("r") >= 2);
    }
    CHECK(held.fence() == fence);
    CHECK(d.client().stats().lost == 0);
    CHECK(d.log().count(event_kind::renewed) >= 4);
    CHECK(d.release(std::move(held)) == error_code{});
    CHECK(d.until([&] { return nodes.holding("r") == 0; }));
    // Nothing renews what is released.
    const auto renewals = d.client().stats().renewals;
    d.pass(1'900ms);
    CHECK(d.client().stats().renewals == renewals);
}

TEST_CASE("a lease that is not renewed expires, and says so before it does", "[hold]") {
    memory_cluster nodes(3);
    memory_driver d(nodes.options(GENERATE(true, false)));
    auto held = must_acquire(d, {.ttl = 3s, .renew = false, .loss_margin = 1'500ms});
    const auto end = held.valid_until();
    alarm_clock alarm(held);
    auto lost = d.start_lost(held);
    auto lost_too = d.start_lost(held);
    CHECK(d.finish(lost).error() == error_code{});
    CHECK(lost.value() == loss::expired);
    CHECK(d.finish(lost_too).value() == loss::expired);
    CHECK(alarm.rang == end - 1'500ms);
    CHECK(lost.when() == end - 1'500ms);
    CHECK_FALSE(held);
    CHECK(held.lost_token().stop_requested());
    CHECK(d.client().stats().lost == 1);
    CHECK(d.log().count(event_kind::lost) == 1);
    CHECK(d.client().stats().renewals == 0);
    // A later wait returns the same, at once.
    CHECK(d.finish(d.start_lost(held)).value() == loss::expired);
    CHECK(d.release(std::move(held)) == errc::lost);
    CHECK(d.until([&] { return nodes.holding("r") == 0; }));
}

TEST_CASE("the loss is reported before the validity ends without a margin, too", "[hold]") {
    memory_cluster nodes(3);
    memory_driver d(nodes.options());
    auto held = must_acquire(d, {.ttl = 2s, .renew = false});
    const auto end = held.valid_until();
    alarm_clock alarm(held);
    REQUIRE(d.until([&] { return alarm.rang.has_value(); }));
    CHECK(*alarm.rang <= end);
    CHECK(*alarm.rang >= end - 100ms);
}

TEST_CASE("a lease whose keys a quorum lost is reported as taken", "[hold]") {
    memory_cluster nodes(3);
    auto options = nodes.options(GENERATE(true, false));
    memory_driver d(options);
    auto held = must_acquire(d, {.ttl = 6s});
    REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
    const auto end = held.valid_until();
    bool overwritten = false;
    SECTION("deleted") {
        nodes.ask(0).del("r");
        nodes.ask(2).del("r");
    }
    SECTION("overwritten") {
        nodes.ask(0).set("r", "foreign");
        nodes.ask(2).set("r", "foreign");
        overwritten = true;
    }
    auto lost = d.start_lost(held);
    CHECK(d.finish(lost).error() == error_code{});
    CHECK(lost.value() == loss::taken);
    CHECK(lost.when() < end);
    CHECK_FALSE(held);
    CHECK(held.remaining() == 0ms);
    // The key that is left is of no use to anybody.
    CHECK(d.until([&] { return nodes.holding("r") == (overwritten ? 2U : 0U); }, 10s));
    if (overwritten) CHECK(nodes.ask(0).get("r") == "foreign");
}

TEST_CASE("a lease whose key was deleted takes it again under a fresh fence", "[hold]") {
    memory_cluster nodes(3);
    memory_driver d(nodes.options());
    auto held = must_acquire(d, {.ttl = 6s});
    REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
    const auto fence = held.fence();
    const std::size_t i = GENERATE(0U, 2U);
    nodes.ask(i).del("r");
    const auto renewals = d.client().stats().renewals;
    REQUIRE(d.until([&] { return d.client().stats().renewals > renewals; }));
    CHECK(held);
    CHECK(held.fence() == fence);
    REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
    CHECK(nodes.ask(i).get("r") == held.owner().to_string() + "@test");
    CHECK(std::stoull(nodes.ask(i).get("{r}:fence").value_or("0")) > fence);
    CHECK(d.log().count(event_kind::lost) == 0);
    CHECK(d.release(std::move(held)) == error_code{});
    CHECK(d.until([&] { return nodes.holding("r") == 0; }));
}

TEST_CASE("a lease that cannot be renewed is reported as unreachable", "[hold]") {
    memory_cluster nodes(3);
    auto options = nodes.options(GENERATE(true, false));
    options.node_timeout = 500ms;
    memory_driver d(options);
    // Time for one renewal to fail before the loss.
    auto held = must_acquire(d, {.ttl = 8s, .wait = 10s, .loss_margin = 2'500ms});
    SECTION("dead") {
        nodes.kill(0);
        nodes.kill(1);
    }
    SECTION("hung") {
        nodes.stop(0);
        nodes.stop(1);
    }
    alarm_clock alarm(held);
    auto lost = d.start_lost(held);
    CHECK(d.finish(lost).error() == error_code{});
    CHECK(lost.value() == loss::unreachable);
    REQUIRE(alarm.rang);
    CHECK(*alarm.rang <= held.valid_until());
    CHECK_FALSE(held);
    CHECK(d.client().stats().renewal_failures >= 1);
    CHECK(d.log().count(event_kind::renewal_failed) >= 1);
    CHECK(d.until([&] { return nodes.holding("r") == 0; }, 10s));
}

TEST_CASE("a lease outlives a quorum that comes back in time", "[hold]") {
    memory_cluster nodes(3, memory_cluster::disk::always);
    memory_driver d(nodes.options());
    auto held = must_acquire(d, {.ttl = 12s});
    REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
    const auto first_end = held.valid_until();
    nodes.kill(0);
    nodes.kill(1);
    REQUIRE(d.until([&] { return d.log().count(event_kind::renewal_failed) > 0; }));
    CHECK(held);
    nodes.restart(0);
    nodes.restart(1);
    REQUIRE(d.until([&] { return d.log().count(event_kind::renewed) > 0; }));
    CHECK(held);
    CHECK(held.valid_until() > first_end);
    CHECK(d.log().count(event_kind::lost) == 0);
}

TEST_CASE("a lease outlives the restart of every node, one after the other", "[hold]") {
    memory_cluster nodes(3, memory_cluster::disk::always);
    memory_driver d(nodes.options());
    auto held = must_acquire(d, {.ttl = 5s});
    REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
    for (std::size_t i = 0; i < 3; ++i) {
        nodes.restart(i);
        const auto renewed = d.client().stats().renewals;
        REQUIRE(d.until([&] { return d.client().stats().renewals > renewed + 1; }));
        REQUIRE(held);
    }
    CHECK(d.release(std::move(held)) == error_code{});
    CHECK(d.until([&] { return nodes.holding("r") == 0; }));
}

TEST_CASE("a hung minority does not keep a lease from being renewed", "[hold]") {
    memory_cluster nodes(3);
    memory_driver d(nodes.options(GENERATE(true, false)));
    auto held = must_acquire(d, {.ttl = 6s});
    nodes.stop(1);
    REQUIRE(d.until([&] { return d.client().stats().renewals >= 3; }));
    CHECK(held);
    CHECK(d.client().stats().renewal_failures == 0);
    nodes.cont(1);
    CHECK(d.release(std::move(held)) == error_code{});
    CHECK(d.until([&] { return nodes.holding("r") == 0; }));
}

TEST_CASE("max_hold caps what renewal prolongs", "[hold]") {
    memory_cluster nodes(3);
    memory_driver d(nodes.options(GENERATE(true, false)));
    auto got = d.acquire("r", {.ttl = 7s, .max_hold = 8s, .loss_margin = 2'200ms});
    REQUIRE(got.value());
    const auto cap = got.when() + 8s;
    auto lost = d.start_lost(got.value());
    while (!lost.done()) {
        REQUIRE(clock::now() < cap + 10s);
        d.pass(10ms);
        REQUIRE(got.value().valid_until() <= cap);
    }
    CHECK(lost.error() == error_code{});
    CHECK(lost.value() == loss::max_hold);
    CHECK(lost.when() <= cap);
    CHECK(d.client().stats().renewals >= 1);
    CHECK_FALSE(got.value());
    CHECK(d.until([&] { return nodes.holding("r") == 0; }));
}

TEST_CASE("waiting for the loss of what ends otherwise", "[hold]") {
    memory_cluster nodes(3);
    memory_driver d(nodes.options());
    auto held = must_acquire(d, {.ttl = 30s});
    auto lost = d.start_lost(held);
    SECTION("released") {
        auto released = d.start_release(std::move(held));
        CHECK(d.finish(lost).error() == errc::not_held);
        d.finish(released);
    }
    SECTION("destroyed") {
        held = lease{};
        CHECK(d.finish(lost).error() == errc::not_held);
    }
    SECTION("detached") {
        held.detach();
        CHECK(d.finish(lost).error() == errc::not_held);
    }
    SECTION("cancelled") {
        lost.cancel();
        CHECK(d.finish(lost).error() == asio::error::operation_aborted);
        CHECK(held);
        CHECK_FALSE(d.start_lost(held).done());
    }
    SECTION("closed") {
        d.client().close();
        CHECK(d.finish(lost).error() == errc::client_closed);
    }
    SECTION("of nothing") {
        CHECK(d.finish(d.start_lost(lease{})).error() == errc::invalid_argument);
        memory_driver other(nodes.options());
        CHECK(other.finish(other.start_lost(held)).error() == errc::invalid_argument);
    }
}

TEST_CASE("a detached lease runs out by itself", "[hold]") {
    memory_cluster nodes(3);
    memory_driver d(nodes.options(GENERATE(true, false)));
    auto held = must_acquire(d, {.ttl = 6s});
    REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
    held.detach();
    CHECK_FALSE(held);
    CHECK(held.resource().empty());
    d.pass(100ms);
    CHECK(nodes.holding("r") == 3);
    CHECK(d.until([&] { return nodes.holding("r") == 0; }));
    CHECK(d.client().stats().released + d.client().stats().renewals == 0);
    CHECK(d.client().stats().leases == 0);
}

TEST_CASE("a pause longer than the lease is seen at once", "[hold]") {
    memory_cluster nodes(3);
    memory_driver d(nodes.options());
    auto held = must_acquire(d, {.ttl = 3s});
    CHECK(held);
    // Nothing runs the client's context: as if the whole process had slept.
    asio::io_context nobody;
    memory_cluster::moved_time::until(nobody, [] { return false; }, 3s);
    CHECK(clock::now() > held.valid_until());
    CHECK_FALSE(held);
    CHECK(held.remaining() == 0ms);
    auto lost = d.start_lost(held);
    CHECK(d.finish(lost).error() == error_code{});
    CHECK(held.lost_token().stop_requested());
}

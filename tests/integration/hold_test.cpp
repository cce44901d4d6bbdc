// Leases over time on real servers, by the real clock: renewed, lost, while servers restart. What a
// lease does otherwise is tested on masters in memory.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/founded.hpp"

#include <redlock/error.hpp>

#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

using namespace redlock;
using namespace redlock::testing;

namespace {

lease must_acquire(driver& d, acquire_options options, const std::string& resource = "r") {
    auto got = d.acquire(resource, options);
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

// When a timer of the test's own rings on the client's context: no client can be more punctual.
struct control_timer {
    control_timer(asio::io_context& context, clock::time_point when)
        : timer(context, when - clock::now()) {
        timer.async_wait([this](error_code error) {
            if (!error) rang = clock::now();
        });
    }
    std::optional<clock::time_point> rang;
    asio::steady_timer timer;
};

}  // namespace

TEST_CASE("of two leases the one that is renewed lives on, and the other one's loss is reported",
          "[hold]") {
    cluster nodes(3);
    driver d(nodes.options(GENERATE(true, false)));
    auto kept = must_acquire(d, {.ttl = 5s}, "kept");
    auto held = must_acquire(d, {.ttl = 3s, .renew = false, .loss_margin = 1'500ms});
    const auto fence = kept.fence();
    const auto end = held.valid_until();
    alarm_clock alarm(held);
    auto lost = d.start_lost(held);
    control_timer control(d.context(), end - 1'500ms);
    CHECK(d.finish(lost).value() == loss::expired);
    REQUIRE(d.until([&] { return control.rang.has_value(); }));
    REQUIRE(alarm.rang);
    const auto latest = std::max(end, *control.rang + 100ms);
    CHECK(*alarm.rang <= latest);
    CHECK(lost.when() <= latest);
    CHECK_FALSE(held);
    while (d.client().stats().renewals < 4) {
        d.pass(50ms);
        REQUIRE(kept);
        REQUIRE(nodes.holding("kept") >= 2);
    }
    CHECK(kept.fence() == fence);
    CHECK(d.client().stats().lost == 1);
    CHECK(d.release(std::move(held)) == errc::lost);
    CHECK(d.release(std::move(kept)) == error_code{});
    CHECK(d.until([&] { return nodes.holding("r") + nodes.holding("kept") == 0; }));
}

TEST_CASE("a lease that hung servers keep from being renewed is reported as unreachable",
          "[hold]") {
    founded_cluster nodes(3);
    auto options = nodes.options();
    options.node_timeout = 500ms;
    driver d(options);
    // Time for one renewal to fail before the loss.
    auto held = must_acquire(d, {.ttl = 5s, .wait = 10s, .loss_margin = 1'500ms});
    nodes.stop(0);
    nodes.stop(1);
    alarm_clock alarm(held);
    auto lost = d.start_lost(held);
    CHECK(d.finish(lost).error() == error_code{});
    CHECK(lost.value() == loss::unreachable);
    REQUIRE(alarm.rang);
    CHECK(*alarm.rang <= held.valid_until());
    CHECK(d.client().stats().renewal_failures >= 1);
}

TEST_CASE("a lease outlives the restart of every server, one after the other", "[hold]") {
    cluster nodes(3, durable);
    driver d(nodes.options());
    auto held = must_acquire(d, {.ttl = 5s});
    REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
    for (std::size_t i = 0; i < 3; ++i) {
        d.beside([&] { nodes.restart(i); });
        const auto renewed = d.client().stats().renewals;
        REQUIRE(d.until([&] { return d.client().stats().renewals > renewed; }));
        REQUIRE(held);
    }
    CHECK(d.release(std::move(held)) == error_code{});
    CHECK(d.until([&] { return nodes.holding("r") == 0; }));
}

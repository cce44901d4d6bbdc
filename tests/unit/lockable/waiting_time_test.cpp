// How long a lockable waits: rounding, and the ends of every clock and duration.
// SPDX-License-Identifier: MIT
#include <redlock/detail/waiting_time.hpp>

#include "tests/support/catch.hpp"

#include <redlock/clock.hpp>
#include <redlock/options.hpp>

#include <chrono>
#include <cstdint>
#include <limits>

using namespace redlock;
using namespace std::chrono_literals;
using detail::longest_wait;
using detail::waiting_time;

TEST_CASE("a duration is rounded up to milliseconds") {
    CHECK(waiting_time(1500ms) == 1500ms);
    CHECK(waiting_time(2s) == 2000ms);
    CHECK(waiting_time(1ns) == 1ms);
    CHECK(waiting_time(1000001ns) == 2ms);
    CHECK(waiting_time(std::chrono::duration<double>(0.25)) == 250ms);
    CHECK(waiting_time(std::chrono::duration<std::uint8_t>(3)) == 3000ms);
}

TEST_CASE("a duration below zero is none, and a very long one is a year") {
    CHECK(waiting_time(0s) == 0ms);
    CHECK(waiting_time(-5s) == 0ms);
    CHECK(waiting_time(std::chrono::hours::min()) == 0ms);
    CHECK(waiting_time(std::chrono::nanoseconds::min()) == 0ms);
    CHECK(waiting_time(longest_wait - 1ms) == longest_wait - 1ms);
    CHECK(waiting_time(longest_wait + 1ns) == longest_wait);
    CHECK(waiting_time(std::chrono::hours::max()) == longest_wait);
    CHECK(waiting_time(std::chrono::milliseconds::max()) == longest_wait);
    using seconds = std::chrono::duration<double>;
    CHECK(waiting_time(seconds(std::numeric_limits<double>::infinity())) == longest_wait);
    CHECK(waiting_time(seconds(std::numeric_limits<double>::quiet_NaN())) == 0ms);
}

TEST_CASE("a client accepts the longest wait") {
    client_options client;
    client.nodes.resize(1);
    CHECK(validate(acquire_options{.wait = longest_wait}, client).empty());
}

TEMPLATE_TEST_CASE("a time point of any clock is waited for", "", std::chrono::steady_clock,
                   std::chrono::system_clock, redlock::clock) {
    using time_point = typename TestType::time_point;
    const auto now = TestType::now();
    CHECK(waiting_time(now - 1s) == 0ms);
    CHECK(waiting_time(time_point::min()) == 0ms);
    CHECK(waiting_time(time_point::max()) == longest_wait);
    const auto left = waiting_time(now + 1h);
    CHECK(left <= 1h);
    CHECK(left > 50min);  // the machine may have stalled
    CHECK(waiting_time(std::chrono::time_point_cast<std::chrono::hours>(now) + 48h) > 46h);
}

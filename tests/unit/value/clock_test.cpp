// The clock that counts suspended time.
// SPDX-License-Identifier: MIT
#include "tests/support/catch.hpp"

#include <redlock/clock.hpp>

#include <ctime>

TEST_CASE("the clock is CLOCK_BOOTTIME and never goes back") {
    const auto boottime = [] {
        timespec t{};
        ::clock_gettime(CLOCK_BOOTTIME, &t);
        return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
    };
    const auto before = boottime();
    const auto first = redlock::clock::now();
    const auto second = redlock::clock::now();
    const auto after = boottime();
    CHECK(first.time_since_epoch() >= before);
    CHECK(second >= first);
    CHECK(second.time_since_epoch() <= after);
    static_assert(redlock::clock::is_steady);
}

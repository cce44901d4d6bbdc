// The clock of Linux that counts suspended time.
// SPDX-License-Identifier: MIT
#include "value/platform.hpp"

#include "tests/support/catch.hpp"

#include <time.h>

TEST_CASE("on Linux the time is that of CLOCK_BOOTTIME") {
    const auto boottime = [] {
        timespec t{};
        ::clock_gettime(CLOCK_BOOTTIME, &t);
        return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
    };
    const auto before = boottime();
    const auto now = redlock::detail::platform::steady_time();
    CHECK(now >= before);
    CHECK(now <= boottime());
}

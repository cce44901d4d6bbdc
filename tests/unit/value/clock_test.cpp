// The clock that counts suspended time.
// SPDX-License-Identifier: MIT
#include "value/platform.hpp"

#include "tests/support/catch.hpp"

#include <redlock/clock.hpp>

using redlock::detail::platform::steady_time;

TEST_CASE("the clock is the system's and never goes back") {
    const auto before = steady_time();
    const auto first = redlock::clock::now();
    const auto second = redlock::clock::now();
    const auto after = steady_time();
    CHECK(first.time_since_epoch() >= before);
    CHECK(second >= first);
    CHECK(second.time_since_epoch() <= after);
    static_assert(redlock::clock::is_steady);
}

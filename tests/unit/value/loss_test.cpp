// The reasons of a loss as text.
// SPDX-License-Identifier: MIT
#include <redlock/loss.hpp>

#include "tests/support/catch.hpp"

using namespace redlock;

TEST_CASE("each reason of a loss has its name") {
    CHECK(to_string(loss::expired) == "expired");
    CHECK(to_string(loss::taken) == "taken");
    CHECK(to_string(loss::unreachable) == "unreachable");
    CHECK(to_string(loss::max_hold) == "max_hold");
    CHECK(to_string(loss::stalled) == "stalled");
    CHECK(to_string(static_cast<loss>(200)) == "unknown");
}

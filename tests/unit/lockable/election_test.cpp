// The pauses of a leader whose work fails at once.
// SPDX-License-Identifier: MIT
#include "lockable/election.hpp"

#include "tests/support/catch.hpp"

#include <cstdint>

using redlock::detail::back_off;
using namespace std::chrono_literals;

TEST_CASE("each failure in a row doubles the pause, up to half a minute", "[back_off]") {
    back_off pauses;
    CHECK(pauses.after(0s, 0) == 100ms);
    CHECK(pauses.after(999ms, 0) == 200ms);
    CHECK(pauses.after(5ms, 0) == 400ms);
    for (int i = 0; i < 20; ++i) pauses.after(1ms, 0);
    CHECK(pauses.after(1ms, 0) == 30s);
}

TEST_CASE("a term of a second is no failure, and ends the row", "[back_off]") {
    back_off pauses;
    pauses.after(0s, 0);
    pauses.after(0s, 0);
    CHECK(pauses.after(1s, 0) == 0ms);
    CHECK(pauses.after(0s, 0) == 100ms);
}

TEST_CASE("jitter takes up to half of a pause", "[back_off]") {
    for (const std::uint64_t random : {std::uint64_t{0}, std::uint64_t{50}, std::uint64_t{51},
                                       std::uint64_t{12345678901}, UINT64_MAX}) {
        back_off pauses;
        const auto pause = pauses.after(0s, random);
        CHECK(pause >= 50ms);
        CHECK(pause <= 100ms);
    }
    back_off pauses;
    CHECK(pauses.after(0s, 50) == 50ms);
}

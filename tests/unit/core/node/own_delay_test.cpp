// How late a client's own timers ring, and for how long that counts.
// SPDX-License-Identifier: MIT
#include "core/node/own_delay.hpp"

#include "tests/support/catch.hpp"

using namespace redlock;
using namespace std::chrono_literals;
using core::own_delay;

namespace {

constexpr auto start = time_point(72h);

// A client whose first timer was to ring at `due`, and rang at `now`.
own_delay rung(time_point due, time_point now) {
    own_delay d;
    d.awaits(due, start);
    d.rang(now);
    return d;
}

}  // namespace

TEST_CASE("a client whose timers ring in time waits no longer than the time-out") {
    own_delay d;
    CHECK(d.extra() == 0ms);
    CHECK(d.extended(start) == start);
    d.rang(start);  // nothing was due
    CHECK(d.extra() == 0ms);
    CHECK(rung(start + 1s, start + 1s).extra() == 0ms);
    CHECK(rung(start + 1s, start + 500ms).extra() == 0ms);
}

TEST_CASE("a client whose timer rings late waits from then on for as long again") {
    const auto d = rung(start + 250ms, start + 400ms);
    CHECK(d.extra() == 300ms);
    CHECK(d.extended(start + 250ms) == start + 400ms + 150ms);
    CHECK(d.extended(time_point::max()) == time_point::max());
}

TEST_CASE("a timer that is armed for an instant in the past is late from when it is armed") {
    CHECK(rung(start - 10s, start + 30ms).extra() == 60ms);
}

TEST_CASE("a timer is late also where turns of the loop end before it rings") {
    own_delay d;
    d.awaits(start + 1s, start);
    d.awaits(start + 1s, start + 1100ms);
    d.rang(start + 1200ms);
    CHECK(d.extra() == 400ms);
}

TEST_CASE("the latest timer counts, and no more than a second is added") {
    auto d = rung(start + 1s, start + 1s + 100ms);
    d.awaits(start + 2s, start + 1200ms);
    d.rang(start + 2s + 20ms);
    CHECK(d.extra() == 200ms);
    d.awaits(start + 2100ms, start + 2050ms);
    d.rang(start + 2100ms + 300ms);
    CHECK(d.extra() == 600ms);
    d.awaits(start + 3s, start + 2500ms);
    d.rang(start + 1h);
    CHECK(d.extra() == 1s);
    CHECK(rung(start, time_point::max()).extra() == 1s);
}

TEST_CASE("that a timer was late is forgotten after two seconds") {
    auto d = rung(start + 1s, start + 1s + 100ms);
    d.awaits(start + 9s, start + 3s);
    CHECK(d.extra() == 200ms);
    d.awaits(start + 9s, start + 3s + 100ms);
    CHECK(d.extra() == 0ms);
    d.rang(start + 9s + 10ms);
    CHECK(d.extra() == 20ms);
}

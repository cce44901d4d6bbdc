// How far a node is away, and what time it is given by that.
// SPDX-License-Identifier: MIT
#include "core/node/round_trip.hpp"

#include "tests/support/catch.hpp"

using namespace redlock;
using namespace std::chrono_literals;
using core::node_timeout;

namespace {

constexpr auto start = time_point(72h);

}  // namespace

TEST_CASE("a node has four round trips, at least 250 ms and at most 1 s, unless a time is given") {
    CHECK(node_timeout(0ms, 0ms) == 250ms);
    CHECK(node_timeout(0ms, 200us) == 250ms);
    CHECK(node_timeout(0ms, 62ms) == 250ms);
    CHECK(node_timeout(0ms, 63ms) == 252ms);
    CHECK(node_timeout(0ms, 80ms) == 320ms);
    CHECK(node_timeout(0ms, 251ms) == 1s);
    CHECK(node_timeout(0ms, 1h) == 1s);
    CHECK(node_timeout(20ms, 80ms) == 20ms);
    CHECK(node_timeout(5s, 80ms) == 5s);
    CHECK(core::enough_for(2s) == 8s);
    CHECK(core::enough_for(1ms) == 250ms);
}

TEST_CASE("a node has a tenth of a short ttl, at least 50 ms, and no less than four round trips") {
    CHECK(node_timeout(0ms, 1ms, 1h) == 250ms);
    CHECK(node_timeout(0ms, 1ms, 2500ms) == 250ms);
    CHECK(node_timeout(0ms, 1ms, 2s) == 200ms);
    CHECK(node_timeout(0ms, 1ms, 500ms) == 50ms);
    CHECK(node_timeout(0ms, 1ms, 10ms) == 50ms);
    CHECK(node_timeout(0ms, 40ms, 500ms) == 160ms);
    CHECK(node_timeout(0ms, 1h, 500ms) == 1s);
    CHECK(node_timeout(300ms, 1ms, 500ms) == 300ms);
    CHECK(core::shortest_timeout(0ms, 1ms) == 50ms);
    CHECK(core::shortest_timeout(0ms, 60ms) == 240ms);
    CHECK(core::shortest_timeout(300ms, 1ms) == 300ms);
}

TEST_CASE("the round trip is the shortest from a question to the first reply") {
    core::round_trip r;
    CHECK_FALSE(r.is_known());
    CHECK(r.get() == 0ms);
    r.begin();
    r.queried(start);
    r.answered(start + 90ms);
    r.answered(start + 95ms);  // of what went out with it
    CHECK(r.get() == 90ms);
    r.queried(start + 100ms);
    r.answered(start + 180ms);
    CHECK(r.get() == 80ms);
    r.queried(start + 200ms);
    r.answered(start + 300ms);
    CHECK(r.is_known());
    CHECK(r.get() == 80ms);
    SECTION("of the latest handshake") {
        r.begin();
        CHECK_FALSE(r.is_known());
        r.queried(start + 1s);
        r.answered(start + 1s + 200ms);
        CHECK(r.get() == 200ms);
    }
}

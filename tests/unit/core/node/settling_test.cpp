// How long acquires wait for the votes of the nodes, to the nanosecond.
// SPDX-License-Identifier: MIT
#include "core/node/settling.hpp"

#include "tests/support/catch.hpp"

using namespace redlock;
using namespace std::chrono_literals;
using core::settling;

namespace {

constexpr time_point start = time_point(72h);
constexpr time_point never = time_point::max();

settling waiting() {
    settling s(false, 500ms);
    s.start(start);
    return s;
}

}  // namespace

TEST_CASE("the wait is over as soon as nothing is worth it and once") {
    settling s = waiting();
    CHECK_FALSE(s.is_settled());
    CHECK_FALSE(s.settle(true, start + 1ms));
    CHECK(s.settle(false, start + 2ms));
    CHECK(s.is_settled());
    CHECK(s.deadline() == never);
    CHECK_FALSE(s.settle(false, start + 3ms));
}

TEST_CASE("nodes that never answer are waited for one connect_timeout") {
    settling s = waiting();
    CHECK(s.deadline() == start + 500ms);
    CHECK_FALSE(s.settle(true, start + 500ms - 1ns));
    CHECK(s.settle(true, start + 500ms));
}

TEST_CASE("nodes that are still being greeted at the deadline are waited for once more") {
    settling s = waiting();
    s.await_greeting(start + 500ms - 1ns);
    CHECK(s.deadline() == start + 500ms);
    s.await_greeting(start + 500ms);
    CHECK_FALSE(s.settle(true, start + 500ms));
    CHECK(s.deadline() == start + 1s);
    SECTION("and no longer") {
        s.await_greeting(start + 1s);
        CHECK(s.settle(true, start + 1s));
    }
    SECTION("and not once that is over") {
        CHECK(s.settle(false, start + 780ms));
        s.await_greeting(start + 1s);
        CHECK(s.deadline() == never);
    }
}

TEST_CASE("a command that may give a vote is waited for one node_timeout longer") {
    settling s = waiting();
    s.extend(start + 480ms, 50ms);
    CHECK(s.deadline() == start + 530ms);
    SECTION("but never is the wait made shorter") {
        s.extend(start + 1ms, 50ms);
        CHECK(s.deadline() == start + 530ms);
    }
    SECTION("and many commands one after the other no longer than one") {
        for (int i = 0; i < 100; ++i) s.extend(start + 490ms + i * 40ms, 50ms);
        CHECK(s.deadline() == start + 550ms);
    }
}

TEST_CASE("when a quorum votes the others are waited for as long again") {
    settling s = waiting();
    SECTION("as of when the quorum was first seen") {
        s.note_quorum(start + 3ms);
        s.note_quorum(start + 5ms);
        CHECK(s.deadline() == start + 6ms);
        CHECK_FALSE(s.settle(true, start + 6ms - 1ns));
        CHECK(s.settle(true, start + 6ms));
    }
    SECTION("and never longer than for the quorum") {
        s.note_quorum(start + 400ms);
        CHECK(s.deadline() == start + 500ms);
    }
}

TEST_CASE("where clocks have still to be compared the wait is one node_timeout longer, from the start") {
    settling s = waiting();
    s.await_comparison(50ms);
    s.await_comparison(20ms);
    CHECK(s.deadline() == start + 550ms);
    CHECK_FALSE(s.settle(true, start + 500ms));
    s.extend(start + 500ms, 50ms);
    CHECK(s.deadline() == start + 550ms);
    REQUIRE(s.settle(true, start + 550ms));
    s.await_comparison(50ms);
    CHECK(s.deadline() == never);
}

TEST_CASE("what is settled is not extended and waits again where votes are in sight") {
    settling s = waiting();
    REQUIRE(s.settle(false, start + 1ms));
    s.extend(start + 2ms, 50ms);
    CHECK(s.deadline() == never);
    s.unsettle(start + 1h);
    CHECK_FALSE(s.is_settled());
    CHECK(s.deadline() == start + 1h + 500ms);
    // One after the other, nodes that come back would hold acquires up without end.
    s.unsettle(start + 1h + 400ms);
    CHECK(s.deadline() == start + 1h + 500ms);
}

TEST_CASE("without fencing acquires never wait") {
    settling s(true, 500ms);
    s.start(start);
    CHECK(s.is_settled());
    CHECK(s.deadline() == never);
}

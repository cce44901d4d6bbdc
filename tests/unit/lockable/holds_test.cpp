// Which thread holds, and to which operation a loss is reported: once, and to no other thread.
// SPDX-License-Identifier: MIT
#include "lockable/holds.hpp"

#include "client/lease/lease_state.hpp"
#include "tests/support/catch.hpp"

#include <memory>
#include <set>
#include <thread>
#include <utility>

using namespace redlock;
using detail::holds;
using leaving = detail::holds::leaving;
using standing = detail::holds::standing;

namespace {

constexpr detail::thread_number me = 1;
constexpr detail::thread_number other = 2;

/// Holds, and the state of the leases that it was given.
struct bench {
    holds of;
    std::shared_ptr<detail::lease_state> state;

    void begin(detail::thread_number thread = me, std::uint64_t fence = 7) {
        state = std::make_shared<detail::lease_state>("r", owner_id{}, fence,
                                                      clock::now() + std::chrono::hours(1),
                                                      detail::cast_votes{});
        of.begin(thread, lease(state));
    }
    void lose() { REQUIRE(state->lose(loss::taken)); }
    leaving depart(bool may_throw = true) { return of.depart(me, may_throw).what; }
    standing arrive() { return of.arrive(me).what; }
};

}  // namespace

TEST_CASE("a thread holds from the grant to its unlock, and no other does") {
    bench b;
    CHECK(b.arrive() == standing::free);
    CHECK(b.of.find(me) == nullptr);
    b.begin();
    CHECK(b.arrive() == standing::held);
    CHECK(b.of.arrive(other).what == standing::free);
    CHECK(b.of.depart(other, true).what == leaving::not_held);
    CHECK(b.of.find(other) == nullptr);
    REQUIRE(b.of.find(me) != nullptr);
    CHECK(b.of.find(me)->fence() == 7);
    const auto done = b.of.depart(me, true);
    CHECK(done.what == leaving::hold);
    CHECK(done.ended);
    CHECK(b.of.find(me) == nullptr);
    CHECK(b.depart() == leaving::not_held);
    CHECK(b.arrive() == standing::free);
}

TEST_CASE("levels are counted, and the last one ends the hold") {
    bench b;
    b.begin();
    b.of.deepen(me);
    b.of.deepen(me);
    CHECK(b.depart() == leaving::level);
    CHECK(b.depart() == leaving::level);
    CHECK(b.arrive() == standing::held);
    CHECK(b.depart() == leaving::hold);
    CHECK(b.depart() == leaving::not_held);
}

TEST_CASE("an unlock that may throw reports the loss, and its repetition is excused") {
    bench b;
    b.begin();
    b.lose();
    REQUIRE(b.of.find(me) != nullptr);
    CHECK(b.of.find(me)->lost_token().stop_requested());
    const auto done = b.of.depart(me, true);
    CHECK(done.what == leaving::lost);
    CHECK(done.ended.fence() == 7);  // to be let go, outside the gate
    CHECK(b.of.find(me) == nullptr);
    SECTION("then the guard") {
        CHECK(b.depart() == leaving::excused);
        CHECK(b.depart() == leaving::not_held);
    }
    SECTION("then the next lock, without a guard before") {
        CHECK(b.arrive() == standing::free);
        b.begin();
        CHECK(b.depart() == leaving::hold);
    }
}

TEST_CASE("an unlock that may not throw leaves the report to the next operation") {
    bench b;
    b.begin();
    b.lose();
    CHECK(b.depart(false) == leaving::excused);
    CHECK(b.of.find(me) == nullptr);
    CHECK(b.of.arrive(other).what == standing::free);
    SECTION("a lock") {
        CHECK(b.arrive() == standing::lost);
        CHECK(b.arrive() == standing::free);
        CHECK(b.depart() == leaving::not_held);
    }
    SECTION("an unlock") {
        CHECK(b.depart() == leaving::lost);
        CHECK(b.depart() == leaving::not_held);
    }
}

TEST_CASE("a lock reports the loss of the hold before it") {
    bench b;
    b.begin();
    b.lose();
    const auto now = b.of.arrive(me);
    CHECK(now.what == standing::lost);
    CHECK(now.ended.fence() == 7);
    CHECK(b.arrive() == standing::free);
    CHECK(b.depart() == leaving::excused);  // the guard of the lost section
    CHECK(b.depart() == leaving::not_held);
}

TEST_CASE("a loss reaches all levels, and their unlocks are excused") {
    bench b;
    b.begin();
    b.of.deepen(me);
    b.of.deepen(me);
    b.lose();
    SECTION("the innermost throws") {
        CHECK(b.depart() == leaving::lost);
        for (int level = 3; level > 0; --level) CHECK(b.depart() == leaving::excused);
    }
    SECTION("an exception is on its way through all of them") {
        for (int level = 3; level > 0; --level) CHECK(b.depart(false) == leaving::excused);
        CHECK(b.arrive() == standing::lost);
    }
    SECTION("it is caught on the way: the next one reports the loss") {
        CHECK(b.depart(false) == leaving::excused);
        CHECK(b.depart() == leaving::lost);
        CHECK(b.depart() == leaving::excused);
        CHECK(b.depart() == leaving::excused);
    }
    SECTION("it is locked again before the outer ones are left") {
        CHECK(b.arrive() == standing::lost);
        b.begin(me, 8);
        CHECK(b.depart() == leaving::hold);
        for (int level = 3; level > 0; --level) CHECK(b.depart() == leaving::excused);
    }
    CHECK(b.depart() == leaving::not_held);
}

TEST_CASE("a loss that only the release shows is reported once, too") {
    bench b;
    b.begin();
    CHECK(b.depart() == leaving::hold);
    SECTION("by an unlock that throws, whose guard calls it again") {
        b.of.note_loss(me, true);
        CHECK(b.depart() == leaving::excused);
        CHECK(b.arrive() == standing::free);
    }
    SECTION("by the next operation") {
        b.of.note_loss(me, false);
        CHECK(b.arrive() == standing::lost);
        CHECK(b.arrive() == standing::free);
    }
    CHECK(b.depart() == leaving::not_held);
}

TEST_CASE("another thread's hold is neither ended nor shown to a thread that lost its own") {
    bench b;
    b.begin(me, 7);
    b.lose();
    b.begin(other, 8);
    REQUIRE(b.of.find(me) != nullptr);
    CHECK(b.of.find(me)->fence() == 7);
    CHECK(b.depart() == leaving::lost);
    CHECK(b.depart() == leaving::excused);
    CHECK(b.of.find(other)->fence() == 8);
    CHECK(b.of.depart(other, true).what == leaving::hold);
}

TEST_CASE("threads that never come back are forgotten at last, but not their leases") {
    bench b;
    b.begin(1);
    constexpr auto many = 3 * holds::most_without_lease;
    for (detail::thread_number thread = 2; thread < many; ++thread) {
        b.begin(thread);
        b.lose();
        CHECK(b.of.depart(thread, true).what == leaving::lost);
    }
    CHECK(b.of.depart(many - 1, true).what == leaving::excused);
    CHECK(b.of.depart(2, true).what == leaving::not_held);
    CHECK(b.of.depart(1, true).what == leaving::hold);
}

TEST_CASE("no two threads have one number") {
    std::set<detail::thread_number> seen{detail::this_thread_number()};
    CHECK_FALSE(seen.insert(detail::this_thread_number()).second);
    for (int i = 0; i < 4; ++i) {
        detail::thread_number number = 0;
        std::thread([&] { number = detail::this_thread_number(); }).join();
        CHECK(seen.insert(number).second);
    }
}

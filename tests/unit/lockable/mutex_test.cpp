// Mutexes, guards and sections on a blocking client: what each thread holds, and how a loss is
// reported.
// SPDX-License-Identifier: MIT
#include "lockable/mutex.hpp"

#include "client/lease.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/thrown_by.hpp"
#include "tests/support/unreachable.hpp"

#include <redlock/detail/access.hpp>
#include <redlock/mutex.hpp>
#include <redlock/recursive_mutex.hpp>
#include <redlock/shared_mutex.hpp>

#include <chrono>
#include <concepts>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

// Which thread holds, and to which operation a loss is reported: once, and to no other thread.
namespace holds_test {

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
        of.begin(thread, detail::access::lease_of(state));
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

}  // namespace holds_test

// What the mutexes are to the standard's templates, and what they do without any node.
namespace mutex_test {

using namespace redlock::testing;
using namespace std::chrono_literals;

namespace {

template <class T>
concept timed_lockable = requires(T& m, std::chrono::milliseconds d,
                                  std::chrono::system_clock::time_point t,
                                  redlock::clock::time_point b) {
    { m.lock() } -> std::same_as<void>;
    { m.unlock() } -> std::same_as<void>;
    { m.try_lock() } -> std::same_as<bool>;
    { m.try_lock_for(d) } -> std::same_as<bool>;
    { m.try_lock_until(t) } -> std::same_as<bool>;
    { m.try_lock_until(b) } -> std::same_as<bool>;
};

template <class T>
concept shared_timed_lockable = requires(T& m, std::chrono::milliseconds d,
                                         std::chrono::system_clock::time_point t,
                                         redlock::clock::time_point b) {
    { m.lock_shared() } -> std::same_as<void>;
    { m.unlock_shared() } -> std::same_as<void>;
    { m.try_lock_shared() } -> std::same_as<bool>;
    { m.try_lock_shared_for(d) } -> std::same_as<bool>;
    { m.try_lock_shared_until(t) } -> std::same_as<bool>;
    { m.try_lock_shared_until(b) } -> std::same_as<bool>;
};

template <class T>
constexpr bool is_mutex_type = timed_lockable<T> && std::is_nothrow_destructible_v<T> &&
                               !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T> &&
                               !std::is_move_constructible_v<T> && !std::is_move_assignable_v<T> &&
                               !std::is_default_constructible_v<T>;
static_assert(is_mutex_type<redlock::mutex>);
static_assert(is_mutex_type<redlock::recursive_mutex>);
static_assert(is_mutex_type<redlock::shared_mutex>);
static_assert(shared_timed_lockable<redlock::shared_mutex>);

}  // namespace

TEMPLATE_TEST_CASE("without nodes nothing is locked", "", redlock::mutex,
                   redlock::recursive_mutex, redlock::shared_mutex) {
    redlock::blocking_client client(unreachable());
    TestType m(client, "r", {.wait = 1ms});
    CHECK(thrown_by([&] { m.lock(); }) == redlock::errc::no_quorum);
    CHECK_FALSE(m.try_lock());
    CHECK_FALSE(m.try_lock_for(1ms));
    CHECK_FALSE(m.try_lock_until(redlock::clock::now() + 1ms));
    CHECK_FALSE(std::unique_lock(m, std::try_to_lock).owns_lock());
    CHECK(thrown_by([&] { m.unlock(); }) == redlock::errc::not_held);
    CHECK(m.fence() == 0);
    CHECK_FALSE(m.lost_token().stop_possible());
}

TEMPLATE_TEST_CASE("what would fail again is thrown by try_lock, too", "", redlock::mutex,
                   redlock::recursive_mutex, redlock::shared_mutex) {
    redlock::blocking_client client(unreachable());
    SECTION("a resource without a name") {
        TestType m(client, "");
        CHECK(thrown_by([&] { m.lock(); }) == redlock::errc::invalid_argument);
        CHECK(thrown_by([&] { static_cast<void>(m.try_lock()); }) == redlock::errc::invalid_argument);
        CHECK(thrown_by([&] { static_cast<void>(m.try_lock_for(1s)); }) == redlock::errc::invalid_argument);
    }
    SECTION("a client that was closed") {
        TestType m(client, "r");
        REQUIRE(client.close());
        CHECK(thrown_by([&] { m.lock(); }) == redlock::errc::client_closed);
        CHECK(thrown_by([&] { static_cast<void>(m.try_lock()); }) == redlock::errc::client_closed);
    }
}

TEST_CASE("to share a mutex is refused in the same way") {
    auto options = unreachable();
    options.fencing = true;
    redlock::blocking_client client(options);
    redlock::shared_mutex m(client, "r", {.wait = 1ms});
    CHECK(thrown_by([&] { m.lock_shared(); }) == redlock::errc::no_quorum);
    CHECK_FALSE(m.try_lock_shared());
    CHECK_FALSE(m.try_lock_shared_for(1ms));
    CHECK_FALSE(m.try_lock_shared_until(redlock::clock::now() + 1ms));
    CHECK_FALSE(std::shared_lock(m, std::try_to_lock).owns_lock());
    CHECK(thrown_by([&] { m.unlock_shared(); }) == redlock::errc::not_held);
    REQUIRE(client.close());
    CHECK(thrown_by([&] { m.lock_shared(); }) == redlock::errc::client_closed);
    CHECK(thrown_by([&] { static_cast<void>(m.try_lock_shared()); }) == redlock::errc::client_closed);
}

TEST_CASE("an argument that is refused is named once, with its bound") {
    redlock::blocking_client client(unreachable());
    const auto text_of = [&](redlock::acquire_options how) -> std::string {
        redlock::mutex m(client, "r", how);
        try {
            m.lock();
        } catch (const std::system_error& e) {
            return e.what();
        }
        return "locked";
    };
    CHECK(text_of({.ttl = 2min}) ==
          "lock \"r\": ttl_ms must be 1 to ttl_max_ms, which is 60000, or 0 for the usual one: an "
          "argument is out of its range");
    CHECK(text_of({.ttl = 2ms}) ==
          "lock \"r\": ttl_ms is not longer than its own drift allowance; raise it: an argument is "
          "out of its range");
    CHECK(text_of({.wait = -1ms}) ==
          "lock \"r\": wait_ms must be 0 or more: an argument is out of its range");
    const auto got = client.acquire("r", {.ttl = 2min});
    REQUIRE(got.has_error());
    CHECK(got.error().message() ==
          "an argument is out of its range: ttl_ms must be 1 to ttl_max_ms, which is 60000, or 0 "
          "for the usual one");
    // The remedy: a value within the bound is not refused.
    CHECK(client.acquire("r", {.ttl = 60'000ms}).error() == redlock::errc::no_quorum);
}

TEST_CASE("the text of an exception names the resource and the nodes, escaped") {
    redlock::blocking_client client(unreachable());
    redlock::mutex m(client, "a\033b", {.wait = 1ms});
    try {
        m.lock();
        FAIL("locked without a node");
    } catch (const std::system_error& e) {
        const std::string text = e.what();
        INFO(text);
        CHECK(text.find("\"a\\x1bb\"") != std::string::npos);
        CHECK(text.find("redlock.sock") != std::string::npos);
    }
}

}  // namespace mutex_test

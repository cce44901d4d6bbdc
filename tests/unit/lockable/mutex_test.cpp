// What the mutexes are to the standard's templates, and what they do without any node.
// SPDX-License-Identifier: MIT
#include "tests/support/catch.hpp"
#include "tests/support/unreachable.hpp"

#include <redlock/mutex.hpp>
#include <redlock/recursive_mutex.hpp>
#include <redlock/shared_mutex.hpp>

#include <chrono>
#include <concepts>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <system_error>
#include <type_traits>

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

template <class F>
std::error_code thrown_by(F&& f) {
    try {
        f();
    } catch (const std::system_error& e) {
        return e.code();
    }
    return {};
}

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
        CHECK(thrown_by([&] { m.try_lock(); }) == redlock::errc::invalid_argument);
        CHECK(thrown_by([&] { m.try_lock_for(1s); }) == redlock::errc::invalid_argument);
    }
    SECTION("a client that was closed") {
        TestType m(client, "r");
        REQUIRE(client.close());
        CHECK(thrown_by([&] { m.lock(); }) == redlock::errc::client_closed);
        CHECK(thrown_by([&] { m.try_lock(); }) == redlock::errc::client_closed);
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
    CHECK(thrown_by([&] { m.try_lock_shared(); }) == redlock::errc::client_closed);
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

// What the semaphore is to callers of the standard's, and what it does without any node.
// SPDX-License-Identifier: MIT
#include "tests/support/catch.hpp"
#include "tests/support/unreachable.hpp"

#include <redlock/counting_semaphore.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>

using namespace redlock::testing;
using namespace std::chrono_literals;
using redlock::counting_semaphore;
using redlock::errc;

namespace {

template <class T>
concept semaphore_type = requires(T& s, std::chrono::milliseconds d,
                             std::chrono::system_clock::time_point t,
                             redlock::clock::time_point b) {
    { s.acquire() } -> std::same_as<void>;
    { s.try_acquire() } -> std::same_as<bool>;
    { s.try_acquire_for(d) } -> std::same_as<bool>;
    { s.try_acquire_until(t) } -> std::same_as<bool>;
    { s.try_acquire_until(b) } -> std::same_as<bool>;
    { s.release() } -> std::same_as<void>;
    { s.release(2) } -> std::same_as<void>;
};
static_assert(semaphore_type<counting_semaphore>);
static_assert(std::is_nothrow_destructible_v<counting_semaphore>);
static_assert(!std::is_copy_constructible_v<counting_semaphore>);
static_assert(!std::is_move_constructible_v<counting_semaphore>);

template <class F>
std::error_code code_out_of(F&& f) {
    try {
        f();
    } catch (const std::system_error& e) {
        return e.code();
    }
    return {};
}

redlock::client_options fenced_unreachable() {
    auto options = unreachable();
    options.fencing = true;
    return options;
}

}  // namespace

TEST_CASE("without nodes nothing is acquired") {
    redlock::blocking_client client(fenced_unreachable());
    counting_semaphore s(client, "r", 3, {.wait = 1ms});
    CHECK(code_out_of([&] { s.acquire(); }) == errc::no_quorum);
    CHECK_FALSE(s.try_acquire());
    CHECK_FALSE(s.try_acquire_for(1ms));
    CHECK_FALSE(s.try_acquire_until(redlock::clock::now() + 1ms));
    CHECK(code_out_of([&] { s.release(); }) == errc::not_held);
    CHECK(code_out_of([&] { s.release(-1); }) == errc::not_held);
    CHECK_NOTHROW(s.release(0));
    CHECK(s.fence() == 0);
    CHECK(s.slot() == 0);
    CHECK_FALSE(s.lost_token().stop_possible());
}

TEST_CASE("a number of slots that can't be is refused at once, with the bound") {
    redlock::blocking_client client(fenced_unreachable());
    const auto slots = GENERATE(std::uint16_t{0}, std::uint16_t{redlock::max_slots + 1});
    try {
        const counting_semaphore s(client, "r", slots);
        FAIL("constructed");
    } catch (const std::invalid_argument& e) {
        CHECK(e.what() == "redlock::counting_semaphore: slots must be 1 to " +
                              std::to_string(redlock::max_slots));
    }
    CHECK_NOTHROW(counting_semaphore(client, "r", 1));
    CHECK_NOTHROW(counting_semaphore(client, "r", redlock::max_slots));
}

TEST_CASE("what would fail again is thrown by try_acquire, too") {
    redlock::blocking_client client(fenced_unreachable());
    const auto refuses = [](counting_semaphore& s, errc why) {
        CHECK(code_out_of([&] { s.acquire(); }) == why);
        CHECK(code_out_of([&] { s.try_acquire(); }) == why);
        CHECK(code_out_of([&] { s.try_acquire_for(1s); }) == why);
    };
    SECTION("a resource without a name") {
        counting_semaphore s(client, "", 2);
        refuses(s, errc::invalid_argument);
    }
    SECTION("a client without fences") {
        redlock::blocking_client plain(unreachable());
        counting_semaphore s(plain, "r", 2);
        refuses(s, errc::invalid_argument);
    }
    SECTION("a client that was closed") {
        counting_semaphore s(client, "r", 2);
        REQUIRE(client.close());
        refuses(s, errc::client_closed);
    }
}

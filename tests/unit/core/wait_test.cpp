// When a refused acquire tries again: the bounds of its back-off, keys that run out, the deadline.
// SPDX-License-Identifier: MIT
#include "core/wait.hpp"

#include "tests/support/catch.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <random>
#include <utility>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using core::duration;
using core::time_point;

namespace {

constexpr time_point start = time_point(72h);
constexpr time_point far = start + 24h;
constexpr std::uint64_t all_ones = std::numeric_limits<std::uint64_t>::max();

// The random word that makes the back-off the longest of its window.
std::uint64_t longest_of(duration window) {
    return static_cast<std::uint64_t>((window - 5ms).count());
}

std::optional<duration> pause(core::wait& w, std::uint64_t random, time_point now = start,
                              std::size_t nodes = 5, std::vector<duration> expiries = {},
                              error_code why = errc::contended) {
    const auto next = w.refused(why, nodes, expiries, now, random);
    if (!next) return std::nullopt;
    return *next - now;
}

// When those keys that have run out, and the nodes without one, first make a quorum.
std::optional<duration> free_again(std::size_t nodes, std::vector<duration> expiries) {
    std::size_t free = nodes - expiries.size();
    if (2 * free > nodes) return std::nullopt;
    std::sort(expiries.begin(), expiries.end());
    for (const duration left : expiries) {
        if (2 * ++free > nodes) return left;
    }
    return std::nullopt;
}

}  // namespace

TEST_CASE("the back-off is 5 ms at least, and at most a window that doubles to 100 ms") {
    const std::vector<duration> windows{10ms, 20ms, 40ms, 80ms, 100ms, 100ms, 100ms};
    core::wait shortest(far);
    core::wait longest(far);
    core::wait wrapped(far);
    core::wait ones(far);
    for (const duration window : windows) {
        CHECK(pause(shortest, 0) == duration(5ms));
        CHECK(pause(longest, longest_of(window)) == window);
        CHECK(pause(wrapped, longest_of(window) + 1) == duration(5ms));
        const auto some = pause(ones, all_ones);
        REQUIRE(some);
        CHECK(*some >= 5ms);
        CHECK(*some <= window);
    }
}

TEST_CASE("a thousand tries later the back-off has the same bounds") {
    core::wait w(far);
    std::mt19937_64 random(7);
    for (int i = 0; i < 1000; ++i) {
        const auto some = pause(w, random());
        REQUIRE(some);
        REQUIRE(*some >= 5ms);
        REQUIRE(*some <= 100ms);
    }
    CHECK(pause(w, longest_of(100ms)) == duration(100ms));
}

TEST_CASE("only what can end otherwise is tried again") {
    for (const errc why : {errc::contended, errc::no_quorum, errc::validity_exhausted}) {
        core::wait w(far);
        CHECK(pause(w, 0, start, 5, {}, why) == duration(5ms));
    }
    const error_code aborted = boost::asio::error::operation_aborted;
    for (const error_code why :
         {error_code(errc::not_held), error_code(errc::lost), error_code(errc::client_closed),
          error_code(errc::invalid_argument), error_code(errc::would_deadlock),
          error_code(errc::auth_failed), error_code(errc::script_rejected), aborted,
          error_code()}) {
        core::wait w(far);
        INFO(why.message());
        CHECK_FALSE(pause(w, 0, start, 5, {}, why));
    }
}

TEST_CASE("when enough keys run out sooner than the back-off it sleeps to that instant") {
    const std::vector<duration> keys{9ms, 6ms, 8ms, 7ms, 5ms};
    core::wait w(far);
    CHECK(pause(w, longest_of(10ms), start, 5, keys) == duration(7ms));
}

TEST_CASE("a node without a key in the way needs none to run out") {
    const auto sleep = [](std::size_t nodes, std::vector<duration> keys) {
        core::wait w(far);
        return pause(w, longest_of(10ms), start, nodes, std::move(keys));
    };
    CHECK(sleep(5, {9ms, 8ms, 7ms, 6ms}) == duration(7ms));  // one is free: two more
    CHECK(sleep(5, {9ms, 8ms, 7ms}) == duration(7ms));       // two are free: one more
    CHECK(sleep(5, {2ms, 2ms}) == duration(10ms));           // a quorum is free: split votes
    CHECK(sleep(4, {9ms, 8ms}) == duration(8ms));            // two of four are no quorum
    CHECK(sleep(4, {2ms}) == duration(10ms));
    CHECK(sleep(2, {9ms}) == duration(9ms));
    CHECK(sleep(1, {9ms}) == duration(9ms));
    CHECK(sleep(5, {}) == duration(10ms));
}

TEST_CASE("a key on its last breath is given a millisecond") {
    for (const duration left : {duration(0ns), duration(1ns), duration(999us), duration(1ms)}) {
        core::wait w(far);
        CHECK(pause(w, 0, start, 1, {left}) == duration(1ms));
    }
}

TEST_CASE("keys that last keep nobody from trying after the back-off") {
    core::wait w(far);
    CHECK(pause(w, longest_of(10ms), start, 3, {10s, 10s, 10s}) == duration(10ms));
}

TEST_CASE("any keys on any nodes give the pause that the brute force finds") {
    std::mt19937_64 random(11);
    for (std::size_t nodes = 1; nodes <= 9; ++nodes) {
        for (std::size_t held = 0; held <= nodes; ++held) {
            for (int i = 0; i < 200; ++i) {
                std::vector<duration> keys(held);
                for (duration& k : keys) k = duration(1ms) * static_cast<int>(random() % 14);
                core::wait w(far);
                duration expected = 10ms;
                if (const auto free = free_again(nodes, keys)) {
                    expected = std::min(expected, std::max<duration>(*free, 1ms));
                }
                const auto got = pause(w, longest_of(10ms), start, nodes, keys);
                if (got != expected) {
                    INFO(held << " keys on " << nodes << " nodes");
                    REQUIRE(got == expected);
                }
            }
        }
    }
    SUCCEED();
}

TEST_CASE("near the deadline the pause is half of what is left, until that is too short") {
    const auto with_left = [](duration left, std::uint64_t random) {
        core::wait w(start + left);
        return pause(w, random);
    };
    CHECK(with_left(10ms + 1ns, longest_of(10ms)) == duration(10ms));
    CHECK(with_left(10ms, longest_of(10ms)) == duration(5ms));
    CHECK_FALSE(with_left(10ms - 1ns, longest_of(10ms)));
    CHECK(with_left(5ms + 1ns, 0) == duration(5ms));
    CHECK_FALSE(with_left(5ms, 0));
    CHECK_FALSE(with_left(0ns, 0));
    CHECK_FALSE(with_left(0ns, all_ones));
    CHECK_FALSE(with_left(-1ns, 0));
    CHECK_FALSE(with_left(-1h, all_ones));
}

TEST_CASE("a long pause before the deadline is halved, not shortened to it") {
    core::wait w(start + 90ms);
    for (int i = 0; i < 4; ++i) pause(w, 0);
    CHECK(pause(w, longest_of(100ms)) == duration(45ms));
}

TEST_CASE("waiting ends before the deadline, after a last try just ahead of it") {
    for (std::uint32_t seed = 1; seed <= 500; ++seed) {
        std::mt19937_64 random(seed);
        const auto patience = duration(1ms) * static_cast<int>(random() % 3000);
        core::wait w(start + patience);
        CHECK(w.deadline() == start + patience);
        time_point now = start;
        int tries = 0;
        for (;;) {
            std::vector<duration> keys(random() % 6);
            for (duration& k : keys) k = duration(1us) * static_cast<int>(random() % 50'000);
            const auto next = w.refused(errc::contended, 5, keys, now, random());
            if (!next) break;
            REQUIRE(*next > now);
            REQUIRE(*next < w.deadline());
            REQUIRE(*next - now <= 100ms);
            now = *next;
            ++tries;
        }
        INFO("seed " << seed);
        CHECK(w.deadline() - now <= 10ms);
        CHECK(tries >= patience / 101ms);
    }
}

// When a waiter tries again: what the nodes told, wake-ups, the bounds of its rest, the deadline.
// SPDX-License-Identifier: MIT
#include "core/wait.hpp"

#include "tests/support/catch.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using core::duration;
using core::time_point;

namespace {

constexpr time_point start = time_point(72h);
constexpr time_point far = start + 24h;
constexpr std::uint64_t all_ones = std::numeric_limits<std::uint64_t>::max();

// The random word that makes the rest the longest of its window.
std::uint64_t longest_of(duration window) {
    return static_cast<std::uint64_t>((window - 5ms).count());
}

// What is left of the keys on the first nodes; the others tell nothing.
core::wait refused_with(std::vector<duration> left, std::size_t nodes = 5,
                        std::uint64_t random = longest_of(10ms)) {
    core::wait w(nodes, far);
    w.tried(start);
    for (std::size_t i = 0; i < left.size(); ++i) w.told(i, start + left[i]);
    CHECK(w.refused(errc::contended, start, random, 0));
    return w;
}

duration sleep_of(const core::wait& w) { return w.next() - start; }

}  // namespace

TEST_CASE(
    "where nothing is worth waiting for it rests 5 ms at least, and up to a window that "
    "doubles to 100 ms") {
    const std::vector<duration> windows{10ms, 20ms, 40ms, 80ms, 100ms, 100ms, 100ms};
    for (const std::uint64_t random : {std::uint64_t{0}, all_ones}) {
        core::wait w(5, far);
        for (const duration window : windows) {
            w.tried(start);
            REQUIRE(w.refused(errc::contended, start, random, 0));
            CHECK(sleep_of(w) >= 5ms);
            CHECK(sleep_of(w) <= window);
            if (random == 0) CHECK(sleep_of(w) == duration(5ms));
        }
    }
    core::wait longest(5, far);
    for (const duration window : windows) {
        longest.tried(start);
        REQUIRE(longest.refused(errc::contended, start, longest_of(window), 0));
        CHECK(sleep_of(longest) == window);
    }
}

TEST_CASE("a crowd that rests tries 5,000 times a second, all taken together") {
    for (const std::size_t others : {0U, 250U, 251U, 5'000U, 100'000U}) {
        INFO(others << " others");
        std::mt19937_64 random(others);
        core::wait w(3, far);
        duration sum{};
        for (int i = 0; i < 1'000; ++i) {
            w.tried(start);
            REQUIRE(w.refused(errc::no_quorum, start, random(), others));
            CHECK(w.is_resting());
            CHECK(sleep_of(w) >= 5ms);
            CHECK(sleep_of(w) <= std::max<duration>(100ms, others * 400us));
            sum += sleep_of(w);
        }
        CHECK(sum / 1'000 >= others * 180us);
    }
}

TEST_CASE("it rests no more when the nodes tell what to wait for") {
    core::wait w(3, far);
    w.tried(start);
    REQUIRE(w.refused(errc::no_quorum, start, longest_of(10ms), 0));
    CHECK(w.is_resting());
    w.told(0, start + 30s);
    CHECK(w.is_resting());
    w.told(1, start + 30s);
    CHECK_FALSE(w.is_resting());
    CHECK(w.next() == start + 30s);
}

TEST_CASE("only what can end otherwise is tried again") {
    for (const errc why : {errc::contended, errc::no_quorum, errc::validity_exhausted}) {
        core::wait w(5, far);
        w.tried(start);
        CHECK(w.refused(why, start, 0, 0));
    }
    const error_code aborted = boost::asio::error::operation_aborted;
    for (const error_code why :
         {error_code(errc::not_held), error_code(errc::lost), error_code(errc::client_closed),
          error_code(errc::invalid_argument), error_code(errc::would_deadlock),
          error_code(errc::auth_failed), error_code(errc::script_rejected), aborted,
          error_code()}) {
        core::wait w(5, far);
        w.tried(start);
        INFO(why.message());
        CHECK_FALSE(w.refused(why, start, 0, 0));
    }
}

TEST_CASE("it sleeps until a quorum of nodes would let it have the key") {
    CHECK(sleep_of(refused_with({9s, 6s, 8s, 7s, 5s})) == duration(7s));
    CHECK(sleep_of(refused_with({9s, 8s, 7s, 6s})) == duration(7s));  // one tells nothing: two more
    CHECK(sleep_of(refused_with({9s, 8s, 7s})) == duration(7s));
    CHECK(sleep_of(refused_with({2ms, 2ms})) == duration(10ms));  // a quorum tells nothing: a rest
    CHECK(sleep_of(refused_with({9s, 8s}, 4)) == duration(8s));   // two of four are no quorum
    CHECK(sleep_of(refused_with({9s}, 2)) == duration(9s));
    CHECK(sleep_of(refused_with({9s}, 1)) == duration(9s));
}

TEST_CASE("a node lets us have the key when it is free and nobody may stand before us") {
    CHECK(core::free_at(0ms, 0ms, start) <= start);
    CHECK(core::free_at(7ms, 0ms, start) == start + 8ms);  // in its last ms it is still there
    CHECK(core::free_at(7ms, 5ms, start) == start + 8ms);
    CHECK(core::free_at(7ms, 9ms, start) == start + 9ms);
    CHECK(core::free_at(0ms, 9ms, start) == start + 9ms);
    CHECK(core::free_at(-1ms, 9ms, start) == time_point::max());
}

TEST_CASE("any keys on any nodes give the sleep that the brute force finds") {
    std::mt19937_64 random(11);
    for (std::size_t nodes = 1; nodes <= 9; ++nodes) {
        for (std::size_t held = 0; held <= nodes; ++held) {
            for (int i = 0; i < 100; ++i) {
                std::vector<duration> keys(held);
                for (duration& k : keys) k = duration(1ms) * static_cast<int>(1 + random() % 14);
                auto sorted = keys;
                sorted.resize(nodes);  // the others have no key in the way
                std::sort(sorted.begin(), sorted.end());
                const duration nth = sorted[nodes / 2];
                const auto got = sleep_of(refused_with(keys, nodes));
                INFO(held << " keys on " << nodes << " nodes");
                REQUIRE(got == (nth > 0ms ? nth : duration(10ms)));
            }
        }
    }
}

TEST_CASE("keys that do not run out let nobody try before the end") {
    core::wait w(3, start + 10s);
    w.tried(start);
    for (std::size_t i = 0; i < 3; ++i) w.told(i, time_point::max());
    REQUIRE(w.refused(errc::contended, start, 0, 0));
    CHECK(sleep_of(w) == duration(10s - 10ms));
}

TEST_CASE("wake-ups of a quorum end the sleep, and those of fewer do not") {
    auto w = refused_with({9s, 9s, 9s, 9s, 9s});
    w.woken(0, start + 1s);
    w.woken(0, start + 1s);
    w.woken(1, start + 2s);
    CHECK(sleep_of(w) == duration(9s));
    w.woken(4, start + 3s);
    CHECK(sleep_of(w) == duration(3s));
}

TEST_CASE("a wake-up counts together with nodes that have nothing in the way") {
    auto w = refused_with({9s, 9s, 9s});
    w.woken(1, start + 1s);
    CHECK(sleep_of(w) == duration(1s));
}

TEST_CASE("a wake-up ends a rest, too") {
    auto w = refused_with({});
    w.woken(0, start + 1ms);
    CHECK(sleep_of(w) == duration(1ms));
}

TEST_CASE("a wake-up that comes while answers are outstanding is newer than these") {
    core::wait w(3, far);
    w.tried(start);
    for (std::size_t i = 0; i < 2; ++i) {
        w.woken(i, start + 1ms);
        w.told(i, start + 9s);
    }
    w.told(2, start + 9s);
    REQUIRE(w.refused(errc::contended, start + 2ms, longest_of(10ms), 0));
    CHECK(sleep_of(w) == duration(2ms));  // at once
}

TEST_CASE("what is asked after a wake-up is answered anew") {
    auto w = refused_with({9s, 9s, 9s}, 3);
    w.woken(0, start + 1s);
    w.asked(0b001);
    w.told(0, start + 8s);
    w.woken(1, start + 2s);
    CHECK(sleep_of(w) == duration(8s));
    w.asked(0b001);
    w.told(1, start + 8s);  // not asked since
    w.told(0, start + 3s);
    CHECK(sleep_of(w) == duration(3s));
}

TEST_CASE("an attempt forgets what was told before it") {
    auto w = refused_with({9s, 9s, 9s}, 3);
    w.tried(start + 1s);
    REQUIRE(w.refused(errc::no_quorum, start + 1s, 0, 0));
    CHECK(sleep_of(w) == duration(1s + 5ms));
}

TEST_CASE("a sleep that the nodes told of ends the growth of the rests") {
    core::wait w(1, far);
    for (int i = 0; i < 6; ++i) {
        w.tried(start);
        REQUIRE(w.refused(errc::no_quorum, start, 0, 0));
    }
    w.tried(start);
    w.told(0, start + 1s);
    REQUIRE(w.refused(errc::contended, start, 0, 0));
    w.tried(start);
    REQUIRE(w.refused(errc::no_quorum, start, longest_of(10ms), 0));
    CHECK(sleep_of(w) == duration(10ms));
}

TEST_CASE("10 ms before the deadline it tries once more, and then no more than it would anyway") {
    core::wait w(1, start + 1s);
    CHECK(w.deadline() == start + 1s);
    w.tried(start);
    w.told(0, start + 5s);
    REQUIRE(w.refused(errc::contended, start, 0, 0));
    CHECK(sleep_of(w) == duration(990ms));
    w.tried(start + 990ms);
    SECTION("nothing more to be hoped for") {
        w.told(0, start + 5s);
        REQUIRE(w.refused(errc::contended, start + 991ms, 0, 0));
        CHECK(sleep_of(w) == duration(1s));
    }
    SECTION("the key runs out in time") {
        w.told(0, start + 995ms);
        REQUIRE(w.refused(errc::contended, start + 991ms, 0, 0));
        CHECK(sleep_of(w) == duration(995ms));
    }
}

TEST_CASE("the next try is never after the deadline") {
    for (std::uint32_t seed = 1; seed <= 500; ++seed) {
        std::mt19937_64 random(seed);
        const auto patience = duration(1ms) * static_cast<int>(random() % 3000);
        core::wait w(5, start + patience);
        time_point now = start;
        for (int tries = 0; now < w.deadline(); ++tries) {
            REQUIRE(tries < 1000);
            w.tried(now);
            for (std::size_t i = 0; i < 5; ++i) {
                if (random() % 2 == 0)
                    w.told(i, now + duration(1us) * static_cast<int>(random() % 50'000));
            }
            REQUIRE(w.refused(errc::contended, now, random(), 0));
            REQUIRE(w.next() > now);
            REQUIRE(w.next() <= w.deadline());
            now = w.next();
        }
    }
}

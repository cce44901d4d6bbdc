// A semaphore on a blocking client: the permits of one object, each a slot.
// SPDX-License-Identifier: MIT
#include "lockable/counting_semaphore.hpp"

#include "client/lease.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/thrown_by.hpp"
#include "tests/support/unreachable.hpp"

#include <redlock/counting_semaphore.hpp>
#include <redlock/detail/access.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// What the semaphore is to callers of the standard's, and what it does without any node.
namespace counting_semaphore_test {

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

redlock::client_options fenced_unreachable() {
    auto options = unreachable();
    options.fencing = true;
    return options;
}

}  // namespace

TEST_CASE("without nodes nothing is acquired") {
    redlock::blocking_client client(fenced_unreachable());
    counting_semaphore s(client, "r", 3, {.wait = 1ms});
    CHECK(thrown_by([&] { s.acquire(); }) == errc::no_quorum);
    CHECK_FALSE(s.try_acquire());
    CHECK_FALSE(s.try_acquire_for(1ms));
    CHECK_FALSE(s.try_acquire_until(redlock::clock::now() + 1ms));
    CHECK(thrown_by([&] { s.release(); }) == errc::not_held);
    CHECK(thrown_by([&] { s.release(-1); }) == errc::not_held);
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
        CHECK(thrown_by([&] { s.acquire(); }) == why);
        CHECK(thrown_by([&] { static_cast<void>(s.try_acquire()); }) == why);
        CHECK(thrown_by([&] { static_cast<void>(s.try_acquire_for(1s)); }) == why);
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

}  // namespace counting_semaphore_test

// Which permit a release gives back, and to which operation a loss is reported: once.
namespace permits_test {

using namespace redlock;
using detail::permits;

namespace {

constexpr detail::thread_number here = 1;
constexpr detail::thread_number elsewhere = 2;

/// Permits, and the states of the leases that they were given, by their fences.
struct permit_bench {
    permits of;
    std::map<std::uint64_t, std::shared_ptr<detail::lease_state>> states;

    void begin(std::uint64_t fence, detail::thread_number thread = here) {
        auto& state = states[fence];
        state = std::make_shared<detail::lease_state>("r", owner_id{}, fence,
                                                      clock::now() + std::chrono::hours(1),
                                                      detail::cast_votes{});
        of.begin(thread, detail::access::lease_of(state));
    }
    void lose(std::uint64_t fence) { REQUIRE(states.at(fence)->lose(loss::taken)); }
    /// The fences of the leases that are to be released.
    std::vector<std::uint64_t> given_back(detail::thread_number thread, std::size_t count = 1) {
        auto done = of.depart(thread, count, true);
        REQUIRE(done.is_enough);
        CHECK_FALSE(done.is_lost);
        std::vector<std::uint64_t> out;
        for (const lease& held : done.held) out.push_back(held.fence());
        return out;
    }
    std::uint64_t latest(detail::thread_number thread = here) const {
        const lease* const found = of.latest(thread);
        return found == nullptr ? 0 : found->fence();
    }
};

using fence_list = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("a thread gives back its own permits first, the latest first, then the oldest") {
    permit_bench b;
    b.begin(1, elsewhere);
    b.begin(2);
    b.begin(3, elsewhere);
    b.begin(4);
    CHECK(b.latest() == 4);
    CHECK(b.latest(elsewhere) == 3);
    CHECK(b.given_back(here) == fence_list{4});
    CHECK(b.latest() == 2);
    CHECK(b.given_back(here) == fence_list{2});
    CHECK(b.latest() == 0);
    CHECK(b.given_back(here) == fence_list{1});
    CHECK(b.latest(elsewhere) == 3);
    CHECK(b.given_back(elsewhere) == fence_list{3});
    CHECK_FALSE(b.of.depart(here, 1, true).is_enough);
}

TEST_CASE("more than there are are not given back, and none is") {
    permit_bench b;
    CHECK(b.of.depart(here, 0, true).is_enough);
    CHECK_FALSE(b.of.depart(here, 1, true).is_enough);
    b.begin(1);
    b.begin(2, elsewhere);
    const auto done = b.of.depart(here, 3, true);
    CHECK_FALSE(done.is_enough);
    CHECK(done.held.empty());
    CHECK(b.latest() == 1);
    CHECK(b.latest(elsewhere) == 2);
    CHECK(b.given_back(here, 2) == fence_list{1, 2});
}

TEST_CASE("a lost permit is reported when it is given back") {
    permit_bench b;
    b.begin(1);
    b.begin(2);
    b.lose(1);
    CHECK(b.latest() == 2);
    auto done = b.of.depart(here, 1, true);
    CHECK(done.is_lost);
    CHECK(done.held.empty());
    REQUIRE(done.ended.size() == 1);
    CHECK(done.ended[0].fence() == 1);
    // The other one is held all the time.
    CHECK(b.latest() == 2);
    CHECK_FALSE(b.of.arrive(here).is_lost);
    CHECK(b.given_back(here) == fence_list{2});
    CHECK_FALSE(b.of.depart(here, 1, true).is_enough);
}

TEST_CASE("an acquire reports all losses of its thread, and what is lost is still given back") {
    permit_bench b;
    b.begin(1);
    b.begin(2);
    b.begin(3, elsewhere);
    b.lose(1);
    b.lose(2);
    CHECK(b.latest() == 2);  // until that is reported
    CHECK_FALSE(b.of.arrive(elsewhere).is_lost);
    const auto told = b.of.arrive(here);
    CHECK(told.is_lost);
    CHECK(told.ended.size() == 2);
    CHECK(b.latest() == 0);
    CHECK_FALSE(b.of.arrive(here).is_lost);
    CHECK(b.given_back(here).empty());
    CHECK(b.given_back(here).empty());
    CHECK(b.given_back(here) == fence_list{3});
}

TEST_CASE("a thread without permits takes those that others have lost, and reports that") {
    permit_bench b;
    b.begin(1, elsewhere);
    b.begin(2, elsewhere);
    b.lose(2);
    auto done = b.of.depart(here, 1, true);
    CHECK(done.is_lost);
    CHECK(done.held.empty());
    CHECK_FALSE(b.of.arrive(elsewhere).is_lost);
    CHECK(b.given_back(here) == fence_list{1});
    SECTION("reported before, it is taken first, and not reported again") {
        b.begin(3, elsewhere);
        b.begin(4, elsewhere);
        b.lose(4);
        CHECK(b.of.arrive(elsewhere).is_lost);
        CHECK(b.given_back(here).empty());
        CHECK(b.given_back(here) == fence_list{3});
    }
}

TEST_CASE("a loss that can't be thrown now is reported by the thread's next operation") {
    permit_bench b;
    b.begin(1);
    const bool is_found_before = GENERATE(true, false);
    if (is_found_before) {
        b.lose(1);
        CHECK_FALSE(b.of.depart(here, 1, false).is_lost);
    } else {
        CHECK(b.of.depart(here, 1, false).held.size() == 1);
        b.of.note_loss(here);
    }
    CHECK(b.latest() == 0);
    CHECK_FALSE(b.of.depart(here, 1, true).is_enough);
    CHECK_FALSE(b.of.arrive(elsewhere).is_lost);
    SECTION("an acquire") { CHECK(b.of.arrive(here).is_lost); }
    SECTION("a release, which gives back, too") {
        b.begin(2);
        const auto done = b.of.depart(here, 1, true);
        CHECK(done.is_lost);
        CHECK(done.held.size() == 1);
    }
    CHECK_FALSE(b.of.arrive(here).is_lost);
}

TEST_CASE("losses that nobody asks for are bounded, and what is held is not forgotten") {
    permit_bench b;
    b.begin(1, elsewhere);
    for (std::uint64_t i = 0; i < permits::most_losses + 50; ++i) b.of.note_loss(3 + i);
    std::size_t reported = 0;
    for (std::uint64_t i = 0; i < permits::most_losses + 50; ++i) {
        reported += b.of.arrive(3 + i).is_lost ? 1 : 0;
    }
    CHECK(reported == permits::most_losses);
    CHECK(b.given_back(elsewhere) == fence_list{1});
}

}  // namespace permits_test

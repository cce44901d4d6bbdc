// The semaphore on masters in memory: never more than its slots, losses, threads; knows no
// internals.
// SPDX-License-Identifier: MIT
#include "component/support/passing_time.hpp"
#include "support/catch.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/counting_semaphore.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using namespace redlock::testing;
using redlock::blocking_client;
using redlock::counting_semaphore;
using redlock::errc;

namespace {

std::string key_of(std::uint16_t slot) { return "r#" + std::to_string(slot); }

/// How many slots are taken on any node.
std::size_t taken(const masters& nodes, std::uint16_t slots) {
    std::size_t found = 0;
    for (std::uint16_t i = 0; i < slots; ++i) found += nodes.holding(key_of(i)) > 0 ? 1 : 0;
    return found;
}

/// Another program takes the slot that the calling thread acquired last, until that is known. Then
/// the slot is free again.
void lose_latest(masters& nodes, const counting_semaphore& s) {
    const auto token = s.lost_token();
    REQUIRE(token.stop_possible());
    REQUIRE(lose(nodes, key_of(s.slot()), token));
}

}  // namespace

TEST_CASE_METHOD(two_clients, "as many acquisitions as slots, each with its own slot, and no more",
                 "[semaphore]") {
    counting_semaphore s(client, "r", 3);
    counting_semaphore there(other_client, "r", 3);
    CHECK(s.fence() == 0);
    std::set<std::uint16_t> slots;
    std::optional<passing_time> running(nodes);
    s.acquire();
    slots.insert(s.slot());
    CHECK(s.fence() > 0);
    CHECK(s.lost_token().stop_possible());
    REQUIRE(s.try_acquire());
    slots.insert(s.slot());
    REQUIRE(there.try_acquire_for(1h));
    slots.insert(there.slot());
    CHECK(slots == std::set<std::uint16_t>{0, 1, 2});
    CHECK_FALSE(s.try_acquire());
    CHECK_FALSE(there.try_acquire_for(20ms));
    CHECK_FALSE(there.try_acquire_until(redlock::clock::now() + 20ms));
    s.release(2);
    CHECK(s.fence() == 0);
    CHECK_FALSE(s.lost_token().stop_possible());
    CHECK(there.try_acquire());
    there.release();
    there.release();
    running.reset();
    CHECK(pass_until(nodes, [&] { return taken(nodes, 3) == 0; }));
}

TEST_CASE_METHOD(one_client, "more than is held is not released, and nothing changes",
                 "[semaphore]") {
    counting_semaphore s(client, "r", 3);
    CHECK(thrown_by([&] { s.release(); }) == errc::not_held);
    s.acquire();
    s.acquire();
    const auto fence = s.fence();
    CHECK(thrown_by([&] { s.release(3); }) == errc::not_held);
    CHECK(thrown_by([&] { s.release(-1); }) == errc::not_held);
    CHECK(s.fence() == fence);
    CHECK(taken(nodes, 3) == 2);
    CHECK_FALSE(s.lost_token().stop_requested());
    s.release(2);
    CHECK(thrown_by([&] { s.release(); }) == errc::not_held);
}

TEST_CASE_METHOD(one_client, "any thread releases what another acquired", "[semaphore]") {
    counting_semaphore s(client, "r", 2);
    s.acquire();
    const auto fence = s.fence();
    CHECK(elsewhere([&] { return s.fence(); }) == 0);
    // Its own first: this thread goes on under its own slot.
    elsewhere([&] {
        s.acquire();
        s.release();
        return 0;
    });
    CHECK(s.fence() == fence);
    elsewhere([&] {
        s.release();
        return 0;
    });
    CHECK(s.fence() == 0);
    CHECK(thrown_by([&] { s.release(); }) == errc::not_held);
    CHECK(pass_until(nodes, [&] { return taken(nodes, 2) == 0; }));
}

TEST_CASE_METHOD(two_clients, "a stop ends a wait for a slot, and nothing is acquired",
                 "[semaphore][threads]") {
    counting_semaphore s(client, "r", 1);
    counting_semaphore there(other_client, "r", 1);
    there.acquire();
    std::stop_source stop;
    std::error_code ended;
    bool is_acquired = true;
    const auto until = GENERATE(false, true);
    {
        std::jthread one([&] { ended = thrown_by([&] { s.acquire(stop.get_token()); }); });
        std::jthread other([&] {
            is_acquired = until ? s.try_acquire_until(redlock::clock::now() + 1h, stop.get_token())
                                : s.try_acquire_for(1h, stop.get_token());
        });
        REQUIRE(pass_until(nodes, [&] { return nodes.waiting("r") == 1; }));
        stop.request_stop();
    }
    CHECK(ended == std::errc::operation_canceled);
    CHECK_FALSE(is_acquired);
    CHECK(pass_until(nodes, [&] { return nodes.waiting("r") == 0; }));
    CHECK(s.fence() == 0);
    CHECK(thrown_by([&] { s.release(); }) == errc::not_held);
    CHECK(there.fence() > 0);
}

TEST_CASE_METHOD(two_clients, "one waits until a slot is released, also by another program",
                 "[semaphore][threads]") {
    counting_semaphore s(client, "r", 2);
    counting_semaphore there(other_client, "r", 2);
    s.acquire();
    there.acquire();
    std::atomic<bool> has_slot = false;
    std::jthread waiter([&] {
        s.acquire();
        has_slot = true;
        s.release();
    });
    REQUIRE(pass_until(nodes, [&] { return nodes.waiting("r") == 1; }));
    CHECK_FALSE(has_slot);
    there.release();
    REQUIRE(pass_until(nodes, [&] { return has_slot.load(); }));
    waiter.join();
    s.release();
}

TEST_CASE("never more at once than slots, by threads of several clients",
          "[semaphore][threads]") {
    constexpr int slots = 3;
    masters nodes;
    blocking_client a(nodes.options());
    blocking_client b(nodes.options());
    counting_semaphore of_a(a, "r", slots);
    counting_semaphore of_b(b, "r", slots);
    std::atomic<int> inside = 0;
    std::atomic<int> most = 0;
    std::atomic<int> done = 0;
    const auto work = [&](counting_semaphore& s) {
        s.acquire();
        const int now = ++inside;
        int known = most;
        while (now > known && !most.compare_exchange_weak(known, now)) {
        }
        // The first ones stay until as many are inside as may be, if that is ever so.
        const auto end = redlock::clock::now() + 1h;
        while (most < slots && redlock::clock::now() < end) rest();
        --inside;
        ++done;
        s.release();
    };
    {
        const passing_time running(nodes);
        std::vector<std::jthread> threads;
        for (int t = 0; t < 8; ++t) {
            threads.emplace_back([&, t] {
                for (int i = 0; i < 10; ++i) work(t % 2 == 0 ? of_a : of_b);
            });
        }
    }
    CHECK(done == 80);
    CHECK(most == slots);
    CHECK(pass_until(nodes, [&] { return taken(nodes, slots) == 0; }));
}

TEST_CASE_METHOD(one_client, "a lost slot is reported to its thread once, after the token",
                 "[semaphore]") {
    counting_semaphore s(client, "r", 3);
    s.acquire();
    const auto first = s.lost_token();
    s.acquire();
    lose_latest(nodes, s);
    CHECK_FALSE(first.stop_requested());
    // Another thread is not concerned.
    CHECK(elsewhere([&] { return thrown_by([&] { s.acquire(); }); }) == std::error_code());
    SECTION("by a release, which has given it back") {
        CHECK(thrown_by([&] { s.release(); }) == errc::lost);
        CHECK_NOTHROW(s.release());
    }
    SECTION("by an acquire, which has acquired nothing") {
        CHECK(thrown_by([&] { s.acquire(); }) == errc::lost);
        CHECK(s.lost_token() == first);
        CHECK_NOTHROW(s.release());  // the lost one
        CHECK(s.lost_token() == first);
        CHECK_NOTHROW(s.release());
    }
    SECTION("by a try") {
        CHECK(thrown_by([&] { static_cast<void>(s.try_acquire_for(1h)); }) == errc::lost);
        CHECK_NOTHROW(s.release(2));
    }
    SECTION("an exception is on its way") {
        try {
            struct guard {
                counting_semaphore& of;
                ~guard() { of.release(); }
            } const ends{s};
            throw std::runtime_error("the section failed");
        } catch (const std::runtime_error&) {
        }
        CHECK(thrown_by([&] { static_cast<void>(s.try_acquire()); }) == errc::lost);
        CHECK_NOTHROW(s.release());
    }
    CHECK_NOTHROW(s.release());  // that of the other thread
    CHECK(thrown_by([&] { s.release(); }) == errc::not_held);
    CHECK(pass_until(nodes, [&] { return taken(nodes, 3) == 0; }));
}

TEST_CASE_METHOD(one_client, "a release that finds the key gone reports the loss", "[semaphore]") {
    counting_semaphore s(client, "r", 2, {.ttl = 60s});  // no renewal finds it
    s.acquire();
    nodes.advance(0s);
    nodes.vacate(key_of(s.slot()));
    CHECK(thrown_by([&] { s.release(); }) == errc::lost);
    CHECK(thrown_by([&] { s.release(); }) == errc::not_held);
}

TEST_CASE_METHOD(one_client, "a slot is kept while a minority of nodes is dead", "[semaphore]") {
    counting_semaphore s(client, "r", 2);
    s.acquire();
    nodes.shut_down(1);
    const auto token = s.lost_token();
    s.acquire();
    REQUIRE(pass_until(nodes, [&] { return client.stats().renewals >= 6; }));  // three of each
    CHECK_FALSE(token.stop_requested());
    CHECK_FALSE(s.lost_token().stop_requested());
    CHECK_NOTHROW(s.release(2));
}

TEST_CASE_METHOD(one_client, "destroyed while slots are held, it leaves none taken",
                 "[semaphore]") {
    auto s = std::make_unique<counting_semaphore>(client, "r", 3);
    s->acquire();
    s->acquire();
    SECTION("held") {}
    SECTION("one of them lost") { lose_latest(nodes, *s); }
    s.reset();
    CHECK(pass_until(nodes, [&] { return taken(nodes, 3) == 0; }));
    CHECK(client.stats().leases == 0);
}

// The mutexes on masters in memory: exclusion, the standard's guards, waits; knows no internals.
// SPDX-License-Identifier: MIT
#include "component/support/passing_time.hpp"
#include "support/catch.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/mutex.hpp>
#include <redlock/recursive_mutex.hpp>
#include <redlock/shared_mutex.hpp>

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using namespace redlock::testing;
using redlock::blocking_client;
using redlock::errc;
using redlock::recursive_mutex;

TEMPLATE_TEST_CASE("locks with a fence, and unlocks without a trace", "[mutex]", redlock::mutex,
                   recursive_mutex, redlock::shared_mutex) {
    masters nodes;
    blocking_client client(nodes.options());
    TestType m(client, "r");
    CHECK(m.fence() == 0);
    CHECK_FALSE(m.lost_token().stop_possible());
    m.lock();
    const auto fence = m.fence();
    CHECK(fence > 0);
    CHECK(m.lost_token().stop_possible());
    CHECK_FALSE(m.lost_token().stop_requested());
    CHECK(elsewhere([&] { return m.fence(); }) == 0);
    nodes.advance(0s);
    CHECK(nodes.holding("r") == 3);
    m.unlock();
    CHECK(m.fence() == 0);
    CHECK_FALSE(m.lost_token().stop_possible());
    CHECK(pass_until(nodes, [&] { return is_untouched(nodes, "r"); }));
    REQUIRE(m.try_lock());
    CHECK(m.fence() > fence);
    m.unlock();
}

TEMPLATE_TEST_CASE("a stop ends a lock that waits", "[mutex][threads]", redlock::mutex,
                   recursive_mutex, redlock::shared_mutex) {
    masters nodes;
    blocking_client client(nodes.options());
    blocking_client other_client(nodes.options());
    TestType m(client, "r");
    TestType there(other_client, "r");
    there.lock();
    std::stop_source stop;
    std::error_code ended;
    std::error_code ended_shared = std::make_error_code(std::errc::operation_canceled);
    {
        std::jthread one([&] { ended = thrown_by([&] { m.lock(stop.get_token()); }); });
        std::jthread other([&] {
            if constexpr (std::is_same_v<TestType, redlock::shared_mutex>) {
                ended_shared = thrown_by([&] { m.lock_shared(stop.get_token()); });
            }
        });
        REQUIRE(pass_until(nodes, [&] { return nodes.waiting("r") == 1; }));
        stop.request_stop();
    }
    CHECK(ended == std::errc::operation_canceled);
    CHECK(ended_shared == std::errc::operation_canceled);
    CHECK(thrown_by([&] { m.unlock(); }) == std::errc::operation_not_permitted);
    there.unlock();
    m.lock(std::stop_token());
    m.unlock();
}

TEST_CASE("plain locks have no fence, but a token", "[mutex]") {
    masters nodes;
    auto options = nodes.options();
    options.fencing = false;
    blocking_client client(options);
    redlock::mutex m(client, "r");
    m.lock();
    CHECK(m.fence() == 0);
    CHECK(m.lost_token().stop_possible());
    m.unlock();
    CHECK(pass_until(nodes, [&] { return is_untouched(nodes, "r"); }));
}

TEST_CASE_METHOD(one_client, "a mutex is not recursive, and belongs to the thread that locked it",
                 "[mutex]") {
    redlock::mutex m(client, "r");
    m.lock();
    CHECK(thrown_by([&] { m.lock(); }) == errc::would_deadlock);
    CHECK(thrown_by([&] { m.lock(); }) == std::errc::resource_deadlock_would_occur);
    try {
        m.lock();
    } catch (const std::system_error& e) {
        CHECK(std::string(e.what()).find("this thread has locked it already") != std::string::npos);
    }
    CHECK_FALSE(m.try_lock());
    CHECK_FALSE(m.try_lock_for(1h));
    CHECK_FALSE(m.try_lock_until(std::chrono::steady_clock::now() + 1h));
    CHECK(elsewhere([&] { return thrown_by([&] { m.unlock(); }); }) == errc::not_held);
    CHECK_FALSE(elsewhere([&] { return m.try_lock(); }));
    CHECK(nodes.holding("r") >= 2);
    CHECK(m.fence() > 0);
    m.unlock();
    CHECK(thrown_by([&] { m.unlock(); }) == errc::not_held);
    CHECK(elsewhere([&] {
        const bool locked = m.try_lock();
        if (locked) m.unlock();
        return locked;
    }));
}

TEST_CASE_METHOD(one_client, "one lock stands behind all levels of a recursive mutex", "[mutex]") {
    recursive_mutex m(client, "r");
    m.lock();
    const auto fence = m.fence();
    CHECK(m.try_lock());
    CHECK(m.try_lock_for(1s));
    m.lock();
    CHECK(client.stats().granted == 1);
    CHECK(m.fence() == fence);
    CHECK(elsewhere([&] { return thrown_by([&] { m.unlock(); }); }) == errc::not_held);
    for (int level = 4; level > 1; --level) {
        m.unlock();
        CHECK(m.fence() == fence);
        CHECK_FALSE(elsewhere([&] { return m.try_lock(); }));
    }
    m.unlock();
    CHECK(m.fence() == 0);
    CHECK(pass_until(nodes, [&] { return is_untouched(nodes, "r"); }));
    CHECK(thrown_by([&] { m.unlock(); }) == errc::not_held);
}

TEMPLATE_TEST_CASE("threads and clients exclude each other", "[mutex][threads]", redlock::mutex,
                   recursive_mutex, redlock::shared_mutex) {
    masters nodes;
    blocking_client a(nodes.options());
    blocking_client b(nodes.options());
    TestType of_a(a, "r");
    TestType of_b(b, "r");
    int counter = 0;  // guarded by the mutexes alone, of which no sanitizer knows
    std::atomic<int> inside = 0;
    std::atomic<int> overlaps = 0;
    {
        const passing_time running(nodes);
        std::vector<std::jthread> threads;
        for (int t = 0; t < 6; ++t) {
            threads.emplace_back([&, t] {
                for (int i = 0; i < 15; ++i) {
                    const std::lock_guard lock(t % 2 == 0 ? of_a : of_b);
                    if (inside.fetch_add(1) != 0) ++overlaps;
                    ++counter;
                    inside.fetch_sub(1);
                }
            });
        }
    }
    CHECK(counter == 90);
    CHECK(overlaps == 0);
    CHECK(pass_until(nodes, [&] { return is_untouched(nodes, "r"); }));
}

TEST_CASE_METHOD(one_client, "scoped locks in reversed orders end", "[mutex][threads]") {
    redlock::mutex x(client, "x");
    redlock::mutex y(client, "y");
    recursive_mutex z(client, "z");
    int counter = 0;
    {
        const passing_time running(nodes);
        std::vector<std::jthread> threads;
        threads.emplace_back([&] {
            for (int i = 0; i < 10; ++i) {
                const std::scoped_lock lock(x, y, z);
                ++counter;
            }
        });
        threads.emplace_back([&] {
            for (int i = 0; i < 10; ++i) {
                const std::scoped_lock lock(z, y, x);
                ++counter;
            }
        });
        threads.emplace_back([&] {
            for (int i = 0; i < 10; ++i) {
                std::unique_lock first(y, std::defer_lock);
                std::unique_lock second(x, std::defer_lock);
                std::lock(first, second);
                ++counter;
            }
        });
    }
    CHECK(counter == 30);
    CHECK(pass_until(nodes, [&] {
        return is_untouched(nodes, "x") && is_untouched(nodes, "y") && is_untouched(nodes, "z");
    }));
}

TEST_CASE_METHOD(one_client, "waits until the limit, by any clock", "[mutex]") {
    nodes.occupy("r", 24h);
    redlock::mutex m(client, "r", {.wait = 100ms});
    {
        const passing_time running(nodes);
        const auto begin = redlock::clock::now();
        CHECK_FALSE(m.try_lock_for(100ms));
        CHECK(redlock::clock::now() - begin >= 100ms);
        CHECK_FALSE(m.try_lock_until(std::chrono::system_clock::now() + 50ms));
        CHECK_FALSE(m.try_lock_until(redlock::clock::now() - 1h));
        CHECK(thrown_by([&] { m.lock(); }) == errc::contended);
    }
    std::optional<bool> owns_lock;
    std::atomic<bool> is_over = false;
    std::jthread waiter([&] {
        std::unique_lock lock(m, redlock::clock::now() + 12h);
        owns_lock = lock.owns_lock();
        is_over = true;
    });
    REQUIRE(pass_until(nodes, [&] { return nodes.waiting("r") == 1; }));
    nodes.vacate("r");
    REQUIRE(pass_until(nodes, [&] { return is_over.load(); }));
    CHECK(owns_lock == true);
}

TEST_CASE_METHOD(one_client, "a lock without a limit waits for its turn", "[mutex][threads]") {
    redlock::mutex m(client, "r");
    nodes.occupy("r", 24h);
    std::atomic<int> turns = 0;
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            const std::lock_guard lock(m);
            ++turns;
        });
    }
    REQUIRE(pass_until(nodes, [&] { return nodes.waiting("r") > 0; }));
    CHECK(turns == 0);
    nodes.vacate("r");
    REQUIRE(pass_until(nodes, [&] { return turns == 3; }));
}

TEST_CASE_METHOD(one_client, "without a quorum lock says why, and try_lock is false", "[mutex]") {
    nodes.shut_down(0);
    nodes.shut_down(1);
    redlock::mutex m(client, "r", {.wait = 200ms});
    const passing_time running(nodes);
    CHECK_FALSE(m.try_lock());
    CHECK_FALSE(m.try_lock_for(20ms));
    try {
        m.lock();
        FAIL("locked without a quorum");
    } catch (const std::system_error& e) {
        CHECK(e.code() == errc::no_quorum);
        CHECK(e.code() == redlock::condition::unreachable);
        CHECK(std::string(e.what()).find("node-1") != std::string::npos);
    }
    CHECK(m.fence() == 0);
    CHECK(is_untouched(nodes, "r"));
}

TEST_CASE_METHOD(one_client, "an unlock that reaches no quorum is none that fails", "[mutex]") {
    redlock::mutex m(client, "r");
    m.lock();
    nodes.advance(0s);
    REQUIRE(nodes.holding("r") == 3);
    nodes.hang(0);
    nodes.hang(1);
    {
        const passing_time running(nodes);
        CHECK_NOTHROW(m.unlock());
    }
    CHECK(nodes.holding("r") == 2);
    nodes.resume(0);
    nodes.resume(1);
    CHECK(pass_until(nodes, [&] { return nodes.holding("r") == 0; }));
}

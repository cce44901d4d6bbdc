// The mutexes on real servers: exclusion, the standard's guards, losses; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"

#include <redlock/mutex.hpp>
#include <redlock/recursive_mutex.hpp>
#include <redlock/shared_mutex.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <system_error>
#include <thread>
#include <vector>

using namespace redlock::testing;
using redlock::acquire_options;
using redlock::blocking_client;
using redlock::errc;
using redlock::recursive_mutex;

namespace {

/// The code of the exception that ends `f`; none if it returns.
template <class F>
std::error_code thrown_by(F&& f) {
    try {
        f();
    } catch (const std::system_error& e) {
        return e.code();
    }
    return {};
}

/// In a thread of its own.
template <class F>
auto elsewhere(F&& f) {
    return std::async(std::launch::async, std::forward<F>(f)).get();
}

/// Gives the keys of a resource to another owner, so that the next renewal finds the lease lost.
void rob(cluster& nodes, const std::string& resource) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes.ask(i).set(resource, "another owner");
    }
}

/// Robs the lock, and waits until its holder can know. Then the lock is free again.
template <class Mutex>
void lose(cluster& nodes, Mutex& held) {
    const auto token = held.lost_token();
    REQUIRE(token.stop_possible());
    rob(nodes, "r");
    REQUIRE(eventually([&] { return token.stop_requested(); }));
    unlock_by_hand(nodes, "r");
}

// A loss is found at a third of it.
constexpr acquire_options short_lived{.ttl = 3s};

}  // namespace

TEMPLATE_TEST_CASE("locks with a fence, and unlocks without a trace", "[mutex]", redlock::mutex,
                   recursive_mutex, redlock::shared_mutex) {
    cluster nodes(3);
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
    CHECK(eventually([&] { return nodes.holding("r") == 3; }));
    m.unlock();
    CHECK(m.fence() == 0);
    CHECK_FALSE(m.lost_token().stop_possible());
    CHECK(eventually([&] { return nodes.keys() == 0; }));
    REQUIRE(m.try_lock());
    CHECK(m.fence() > fence);
    m.unlock();
}

TEST_CASE("plain locks have no fence, but a token", "[mutex]") {
    cluster nodes(3);
    blocking_client client(nodes.options(false));
    redlock::mutex m(client, "r");
    m.lock();
    CHECK(m.fence() == 0);
    CHECK(m.lost_token().stop_possible());
    m.unlock();
    CHECK(eventually([&] { return nodes.keys() == 0; }));
}

TEST_CASE("a mutex is not recursive, and belongs to the thread that locked it", "[mutex]") {
    cluster nodes(3);
    blocking_client client(nodes.options());
    redlock::mutex m(client, "r");
    m.lock();
    CHECK(thrown_by([&] { m.lock(); }) == errc::would_deadlock);
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

TEST_CASE("one lock stands behind all levels of a recursive mutex", "[mutex]") {
    cluster nodes(3);
    blocking_client client(nodes.options());
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
    CHECK(eventually([&] { return nodes.keys() == 0; }));
    CHECK(thrown_by([&] { m.unlock(); }) == errc::not_held);
}

TEMPLATE_TEST_CASE("threads and clients exclude each other", "[mutex][threads]", redlock::mutex,
                   recursive_mutex, redlock::shared_mutex) {
    cluster nodes(3);
    blocking_client a(nodes.options());
    blocking_client b(nodes.options());
    TestType of_a(a, "r");
    TestType of_b(b, "r");
    int counter = 0;  // guarded by the mutexes alone, of which no sanitizer knows
    std::atomic<int> inside = 0;
    std::atomic<int> overlaps = 0;
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
    threads.clear();
    CHECK(counter == 90);
    CHECK(overlaps == 0);
    CHECK(eventually([&] { return nodes.keys() == 0; }));
}

TEST_CASE("scoped locks in reversed orders end", "[mutex][threads]") {
    cluster nodes(3);
    blocking_client client(nodes.options());
    redlock::mutex x(client, "x");
    redlock::mutex y(client, "y");
    recursive_mutex z(client, "z");
    int counter = 0;
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
    threads.clear();
    CHECK(counter == 30);
    CHECK(eventually([&] { return nodes.keys() == 0; }));
}

TEST_CASE("waits until the limit, by any clock", "[mutex]") {
    cluster nodes(3);
    found(nodes);
    blocking_client client(nodes.options());
    lock_by_hand(nodes, "r");
    redlock::mutex m(client, "r", {.wait = 100ms});
    const auto begin = std::chrono::steady_clock::now();
    CHECK_FALSE(m.try_lock_for(100ms));
    CHECK(std::chrono::steady_clock::now() - begin >= 100ms);
    CHECK_FALSE(m.try_lock_until(std::chrono::system_clock::now() + 50ms));
    CHECK_FALSE(m.try_lock_until(redlock::clock::now() - 1h));
    CHECK(thrown_by([&] { m.lock(); }) == errc::contended);
    std::jthread holder([&] {
        eventually([&] { return nodes.ask(0).exists("{r}:queue"); });
        unlock_by_hand(nodes, "r");
    });
    std::unique_lock lock(m, redlock::clock::now() + 3 * patience);
    CHECK(lock.owns_lock());
}

TEST_CASE("a lock without a limit waits for its turn", "[mutex][threads]") {
    cluster nodes(3);
    found(nodes);
    blocking_client client(nodes.options());
    redlock::mutex m(client, "r");
    lock_by_hand(nodes, "r");
    std::atomic<int> turns = 0;
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            const std::lock_guard lock(m);
            ++turns;
        });
    }
    CHECK(eventually([&] { return nodes.ask(0).exists("{r}:queue"); }));
    CHECK(turns == 0);
    unlock_by_hand(nodes, "r");
    threads.clear();
    CHECK(turns == 3);
}

TEST_CASE("without a quorum lock says why, and try_lock is false", "[mutex]") {
    cluster nodes(3);
    found(nodes);
    blocking_client client(nodes.options());
    nodes.kill(0);
    nodes.kill(1);
    redlock::mutex m(client, "r", {.wait = 200ms});
    CHECK_FALSE(m.try_lock());
    CHECK_FALSE(m.try_lock_for(20ms));
    try {
        m.lock();
        FAIL("locked without a quorum");
    } catch (const std::system_error& e) {
        CHECK(e.code() == errc::no_quorum);
        CHECK(e.code() == redlock::condition::unreachable);
        CHECK(std::string(e.what()).find("n1") != std::string::npos);
    }
    CHECK(m.fence() == 0);
    CHECK(eventually([&] { return nodes.keys() == 0; }));
}

TEST_CASE("an unlock that reaches no quorum is none that fails", "[mutex]") {
    cluster nodes(3);
    auto options = nodes.options();
    options.node_timeout = 300ms;
    blocking_client client(options);
    redlock::mutex m(client, "r", {.wait = patience});
    m.lock();
    REQUIRE(eventually([&] { return nodes.holding("r") == 3; }));
    nodes.stop(0);
    nodes.stop(1);
    CHECK_NOTHROW(m.unlock());
    nodes.cont(0);
    nodes.cont(1);
    CHECK(eventually([&] { return nodes.holding("r") == 0; }));
}

TEMPLATE_TEST_CASE("unlock throws the loss once, after the token", "[mutex]", redlock::mutex,
                   recursive_mutex, redlock::shared_mutex) {
    cluster nodes(3);
    blocking_client client(nodes.options());
    TestType m(client, "r", short_lived);
    SECTION("called by the program itself") {
        m.lock();
        const auto fence = m.fence();
        lose(nodes, m);
        CHECK(m.fence() == fence);  // of the section that is going on
        CHECK(thrown_by([&] { m.unlock(); }) == errc::lost);
        CHECK(m.fence() == 0);
        CHECK_FALSE(m.lost_token().stop_possible());
        m.lock();
        CHECK(m.fence() > fence);
    }
    SECTION("through a guard, whose scope the exception leaves") {
        bool reached = false;
        CHECK(thrown_by([&] {
                  std::unique_lock lock(m);
                  lose(nodes, m);
                  lock.unlock();
                  reached = true;
              }) == errc::lost);
        CHECK_FALSE(reached);
        m.lock();
    }
    SECTION("through a guard, whose scope it does not leave") {
        {
            std::unique_lock lock(m);
            lose(nodes, m);
            CHECK(thrown_by([&] { lock.unlock(); }) == errc::lost);
        }
        m.lock();
    }
    SECTION("while another thread has locked it already") {
        m.lock();
        lose(nodes, m);
        std::atomic<bool> over = false;
        std::atomic<bool> locked = false;
        std::jthread next([&] {
            const std::lock_guard lock(m);
            locked = true;
            eventually([&] { return over.load(); }, 3 * patience);
        });
        REQUIRE(eventually([&] { return locked.load(); }));
        CHECK(m.fence() > 0);
        CHECK(thrown_by([&] { m.unlock(); }) == errc::lost);
        CHECK_NOTHROW(m.unlock());  // as its guard would
        CHECK(thrown_by([&] { m.unlock(); }) == errc::not_held);
        CHECK_FALSE(m.try_lock());
        over = true;
        m.lock();
    }
    m.unlock();
    CHECK(eventually([&] { return nodes.keys() == 0; }));
}

TEST_CASE("a lost section that ends by another exception leaves the report to the next lock",
          "[mutex]") {
    cluster nodes(3);
    blocking_client client(nodes.options());
    redlock::mutex m(client, "r", short_lived);
    CHECK_THROWS_AS(
        [&] {
            const std::lock_guard lock(m);
            lose(nodes, m);
            throw std::runtime_error("the work can't go on");
        }(),
        std::runtime_error);
    SECTION("lock") { CHECK(thrown_by([&] { m.lock(); }) == errc::lost); }
    SECTION("try_lock") { CHECK(thrown_by([&] { m.try_lock(); }) == errc::lost); }
    SECTION("another thread has nothing to do with it") {
        CHECK(elsewhere([&] { return thrown_by([&] { const std::lock_guard lock(m); }); }) ==
              std::error_code());
        CHECK(thrown_by([&] { m.lock(); }) == errc::lost);
    }
    m.lock();
    m.unlock();
}

TEST_CASE("a guard that would have to report a loss from its destructor ends the program",
          "[mutex]") {
    cluster nodes(3);
    blocking_client client(nodes.options());
    redlock::mutex m(client, "r", short_lived);
    m.lock();
    lose(nodes, m);
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        std::set_terminate([] { ::_exit(42); });
        { const std::lock_guard lock(m, std::adopt_lock); }
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 42);
    CHECK(thrown_by([&] { m.unlock(); }) == errc::lost);
}

TEST_CASE("the thread that lost the lock learns it from its next lock, too", "[mutex]") {
    cluster nodes(3);
    blocking_client client(nodes.options());
    redlock::mutex m(client, "r", short_lived);
    {
        const std::lock_guard lock(m);
        lose(nodes, m);
        SECTION("lock") { CHECK(thrown_by([&] { m.lock(); }) == errc::lost); }
        SECTION("try_lock") { CHECK(thrown_by([&] { m.try_lock(); }) == errc::lost); }
        SECTION("try_lock_for") { CHECK(thrown_by([&] { m.try_lock_for(1s); }) == errc::lost); }
    }
    const std::lock_guard lock(m);
}

TEST_CASE("a loss reaches every level of a recursive mutex", "[mutex]") {
    cluster nodes(3);
    blocking_client client(nodes.options());
    recursive_mutex m(client, "r", short_lived);
    {
        const std::lock_guard outer(m);
        const std::lock_guard middle(m);
        CHECK(thrown_by([&] {
                  std::unique_lock inner(m);
                  lose(nodes, m);
                  inner.unlock();
              }) == errc::lost);
        CHECK(m.fence() == 0);
        const std::lock_guard again(m);
        CHECK(m.fence() > 0);
    }
    CHECK(thrown_by([&] { m.unlock(); }) == errc::not_held);
    CHECK(eventually([&] { return nodes.keys() == 0; }));
}

TEST_CASE("a key that was gone at the release is a loss as well", "[mutex]") {
    cluster nodes(3);
    blocking_client client(nodes.options());
    redlock::mutex m(client, "r", {.ttl = 60s});  // no renewal finds it
    m.lock();
    rob(nodes, "r");
    CHECK(thrown_by([&] { m.unlock(); }) == errc::lost);
    CHECK_NOTHROW(m.unlock());
    CHECK(thrown_by([&] { m.unlock(); }) == errc::not_held);
}

TEST_CASE("dead nodes, a limit of holding and a closed client are losses", "[mutex]") {
    cluster nodes(3);
    blocking_client client(nodes.options());
    std::optional<redlock::mutex> m;
    SECTION("dead nodes") {
        m.emplace(client, "r", acquire_options{.ttl = 2s});
        m->lock();
        nodes.kill(0);
        nodes.kill(2);
    }
    SECTION("a limit") {
        m.emplace(client, "r", acquire_options{.max_hold = 300ms});
        m->lock();
    }
    SECTION("a closed client") {
        m.emplace(client, "r");
        m->lock();
        CHECK(client.close());
    }
    const auto token = m->lost_token();
    // By the clock alone, perhaps before the client's thread has reported it.
    std::error_code code;
    REQUIRE(eventually([&] {
        code = thrown_by([&] { m->try_lock(); });
        return code != std::error_code();
    }));
    CHECK(token.stop_requested());
    CHECK(code == errc::lost);
    CHECK_NOTHROW(m->unlock());
}

TEST_CASE("a loss that the clock shows first is thrown after the token all the same", "[mutex]") {
    cluster nodes(3);
    std::atomic<bool> is_halted = false;
    std::promise<void> go_on;
    auto options = nodes.options();
    options.on_event = [&](const redlock::event& e) {
        if (e.kind != redlock::event_kind::granted || e.resource != "other") return;
        is_halted = true;  // the client's thread stands still, and reports nothing
        go_on.get_future().wait();
    };
    blocking_client client(options);
    redlock::mutex m(client, "r", {.ttl = 2s, .renew = false});
    m.lock();
    const auto token = m.lost_token();
    std::jthread other([&] { (void)client.acquire("other", {.wait = patience}); });
    REQUIRE(eventually([&] { return is_halted.load(); }));
    std::this_thread::sleep_for(2s);
    CHECK_FALSE(token.stop_requested());
    std::jthread later([&] {
        std::this_thread::sleep_for(50ms);
        go_on.set_value();
    });
    CHECK(thrown_by([&] { m.unlock(); }) == errc::lost);
    CHECK(token.stop_requested());
}

TEMPLATE_TEST_CASE("destroyed while it is locked, it leaves no key", "[mutex]", redlock::mutex,
                   recursive_mutex, redlock::shared_mutex) {
    cluster nodes(3);
    blocking_client client(nodes.options());
    auto m = std::make_unique<TestType>(client, "r");
    SECTION("held") {
        m->lock();
        REQUIRE(eventually([&] { return nodes.holding("r") == 3; }));
    }
    SECTION("lost") {
        m = std::make_unique<TestType>(client, "r", short_lived);
        m->lock();
        lose(nodes, *m);
    }
    m.reset();
    CHECK(eventually([&] { return nodes.keys() == 0; }));
    CHECK(client.stats().leases == 0);
}

TEST_CASE("losses race with threads that lock and unlock", "[mutex][threads]") {
    cluster nodes(3);
    blocking_client client(nodes.options());
    redlock::mutex m(client, "r", {.ttl = 300ms, .renew = false});
    std::atomic<int> lost = 0;
    std::atomic<int> untold = 0;
    std::atomic<int> other = 0;
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 4; ++i) {
                std::stop_token token;
                const auto code = thrown_by([&] {
                    std::unique_lock lock(m);
                    token = m.lost_token();
                    // Some of them until the very end of the lease, by the clock.
                    if ((t + i) % 2 == 0) std::this_thread::sleep_for(297ms);
                    lock.unlock();
                });
                if (code == errc::lost) {
                    ++lost;
                    if (!token.stop_requested()) ++untold;
                } else if (code) {
                    ++other;
                }
            }
        });
    }
    threads.clear();
    CHECK(lost > 0);
    CHECK(untold == 0);
    CHECK(other == 0);
    CHECK(eventually([&] { return nodes.keys() == 0; }));
}

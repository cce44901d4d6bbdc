// The mutexes on masters in memory: which operation reports a loss; knows no internals.
// SPDX-License-Identifier: MIT
#include "component/support/passing_time.hpp"
#include "support/catch.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/event.hpp>
#include <redlock/mutex.hpp>
#include <redlock/recursive_mutex.hpp>
#include <redlock/shared_mutex.hpp>

#include <boost/asio/io_context.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
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

/// Another program takes the lock, until its holder can know. Then the lock is free again.
template <class Mutex>
void lose_lock(masters& nodes, Mutex& held) {
    const auto token = held.lost_token();
    REQUIRE(token.stop_possible());
    REQUIRE(lose(nodes, "r", token));
}

}  // namespace

TEMPLATE_TEST_CASE("unlock throws the loss once, after the token", "[mutex]", redlock::mutex,
                   recursive_mutex, redlock::shared_mutex) {
    masters nodes;
    blocking_client client(nodes.options());
    TestType m(client, "r");
    SECTION("called by the program itself") {
        m.lock();
        const auto fence = m.fence();
        lose_lock(nodes, m);
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
                  lose_lock(nodes, m);
                  lock.unlock();
                  reached = true;
              }) == errc::lost);
        CHECK_FALSE(reached);
        m.lock();
    }
    SECTION("through a guard, whose scope it does not leave") {
        {
            std::unique_lock lock(m);
            lose_lock(nodes, m);
            CHECK(thrown_by([&] { lock.unlock(); }) == errc::lost);
        }
        m.lock();
    }
    SECTION("while another thread has locked it already") {
        m.lock();
        lose_lock(nodes, m);
        std::promise<void> over;
        std::atomic<bool> locked = false;
        std::jthread next([&, until = over.get_future()] {
            const std::lock_guard lock(m);
            locked = true;
            until.wait_for(60s);
        });
        REQUIRE(pass_until(nodes, [&] { return locked.load(); }));
        CHECK(m.fence() > 0);
        CHECK(thrown_by([&] { m.unlock(); }) == errc::lost);
        CHECK_NOTHROW(m.unlock());  // as its guard would
        CHECK(thrown_by([&] { m.unlock(); }) == errc::not_held);
        CHECK_FALSE(m.try_lock());
        over.set_value();
        m.lock();
    }
    m.unlock();
    CHECK(pass_until(nodes, [&] { return is_untouched(nodes, "r"); }));
}

TEST_CASE_METHOD(one_client,
                 "a lost section that ends by another exception leaves the report to the next lock",
                 "[mutex]") {
    redlock::mutex m(client, "r");
    CHECK_THROWS_AS(
        [&] {
            const std::lock_guard lock(m);
            lose_lock(nodes, m);
            throw std::runtime_error("the work can't go on");
        }(),
        std::runtime_error);
    SECTION("lock") { CHECK(thrown_by([&] { m.lock(); }) == errc::lost); }
    SECTION("try_lock") {
        CHECK(thrown_by([&] { static_cast<void>(m.try_lock()); }) == errc::lost);
    }
    SECTION("another thread has nothing to do with it") {
        CHECK(elsewhere([&] { return thrown_by([&] { const std::lock_guard lock(m); }); }) ==
              std::error_code());
        CHECK(thrown_by([&] { m.lock(); }) == errc::lost);
    }
    m.lock();
    m.unlock();
}

TEST_CASE_METHOD(one_client,
                 "a guard that would have to report a loss from its destructor ends the program",
                 "[mutex]") {
    redlock::mutex m(client, "r");
    m.lock();
    lose_lock(nodes, m);
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

TEST_CASE_METHOD(one_client, "the thread that lost the lock learns it from its next lock, too",
                 "[mutex]") {
    redlock::mutex m(client, "r");
    {
        const std::lock_guard lock(m);
        lose_lock(nodes, m);
        SECTION("lock") { CHECK(thrown_by([&] { m.lock(); }) == errc::lost); }
        SECTION("try_lock") {
            CHECK(thrown_by([&] { static_cast<void>(m.try_lock()); }) == errc::lost);
        }
        SECTION("try_lock_for") {
            CHECK(thrown_by([&] { static_cast<void>(m.try_lock_for(1s)); }) == errc::lost);
        }
    }
    const std::lock_guard lock(m);
}

TEST_CASE_METHOD(one_client, "a loss reaches every level of a recursive mutex", "[mutex]") {
    recursive_mutex m(client, "r");
    {
        const std::lock_guard outer(m);
        const std::lock_guard middle(m);
        CHECK(thrown_by([&] {
                  std::unique_lock inner(m);
                  lose_lock(nodes, m);
                  inner.unlock();
              }) == errc::lost);
        CHECK(m.fence() == 0);
        const std::lock_guard again(m);
        CHECK(m.fence() > 0);
    }
    CHECK(thrown_by([&] { m.unlock(); }) == errc::not_held);
    CHECK(pass_until(nodes, [&] { return is_untouched(nodes, "r"); }));
}

TEST_CASE_METHOD(one_client, "a key that was gone at the release is a loss as well", "[mutex]") {
    redlock::mutex m(client, "r", {.ttl = 60s});  // no renewal finds it
    m.lock();
    nodes.occupy("r", 24h);
    CHECK(thrown_by([&] { m.unlock(); }) == errc::lost);
    CHECK_NOTHROW(m.unlock());
    CHECK(thrown_by([&] { m.unlock(); }) == errc::not_held);
}

TEST_CASE_METHOD(one_client, "dead nodes, a limit of holding and a closed client are losses",
                 "[mutex]") {
    std::optional<redlock::mutex> m;
    SECTION("dead nodes") {
        m.emplace(client, "r");
        m->lock();
        nodes.shut_down(0);
        nodes.shut_down(2);
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
    REQUIRE(pass_until(nodes, [&] {
        code = thrown_by([&] { static_cast<void>(m->try_lock()); });
        return code != std::error_code();
    }));
    CHECK(token.stop_requested());
    CHECK(code == errc::lost);
    CHECK_NOTHROW(m->unlock());
}

TEST_CASE("a loss that the clock shows first is thrown after the token all the same", "[mutex]") {
    masters nodes;
    std::atomic<bool> is_halted = false;
    std::promise<void> go_on;
    auto options = nodes.options();
    options.on_event = [&](const redlock::event& e) {
        if (e.kind != redlock::event_kind::granted || e.resource != "other") return;
        is_halted = true;
        is_halted.notify_one();
        // The client's thread stands still, and reports nothing.
        go_on.get_future().wait();
    };
    blocking_client client(options);
    redlock::mutex m(client, "r", {.ttl = 2s, .renew = false});
    m.lock();
    const auto token = m.lost_token();
    std::jthread other([&] { (void)client.acquire("other", {.wait = 1h}); });
    is_halted.wait(false);
    boost::asio::io_context nobody;
    nodes.advance(nobody, 2s);  // without the client's thread
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
    masters nodes;
    blocking_client client(nodes.options());
    auto m = std::make_unique<TestType>(client, "r");
    SECTION("held") {
        m->lock();
        nodes.advance(0s);
        REQUIRE(nodes.holding("r") == 3);
    }
    SECTION("lost") {
        m = std::make_unique<TestType>(client, "r");
        m->lock();
        lose_lock(nodes, *m);
    }
    m.reset();
    CHECK(pass_until(nodes, [&] { return is_untouched(nodes, "r"); }));
    CHECK(client.stats().leases == 0);
}

TEST_CASE_METHOD(one_client, "losses race with threads that lock and unlock", "[mutex][threads]") {
    redlock::mutex m(client, "r", {.ttl = 300ms, .renew = false});
    std::atomic<int> lost = 0;
    std::atomic<int> untold = 0;
    std::atomic<int> other = 0;
    // None, until the very end of the lease, and until after it.
    constexpr std::array<std::chrono::milliseconds, 3> holds{0ms, 294ms, 297ms};
    const auto lock_and_unlock = [&](std::chrono::milliseconds hold) {
        std::stop_token token;
        const auto code = thrown_by([&] {
            std::unique_lock lock(m);
            token = m.lost_token();
            const auto end = redlock::clock::now() + hold;
            while (redlock::clock::now() < end) rest();
            lock.unlock();
        });
        if (code == errc::lost) {
            ++lost;
            if (!token.stop_requested()) ++untold;
        } else if (code) {
            ++other;
        }
    };
    {
        const passing_time running(nodes);
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < 3; ++t) {
            threads.emplace_back([&, t] {
                for (std::size_t i = 0; i < 30; ++i) lock_and_unlock(holds[(t + i) % 3]);
            });
        }
    }
    CHECK(lost >= 30);
    CHECK(untold == 0);
    CHECK(other == 0);
    CHECK(pass_until(nodes, [&] { return is_untouched(nodes, "r"); }));
}

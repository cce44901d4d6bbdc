// One look at each lockable on real servers: what its parts do is tested on masters in memory.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "../support/thrown_by.hpp"
#include "../support/windows.hpp"
#include "support/founded.hpp"
#include "support/waiting.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/counting_semaphore.hpp>
#include <redlock/mutex.hpp>
#include <redlock/rate_limiter.hpp>
#include <redlock/recursive_mutex.hpp>
#include <redlock/shared_mutex.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <vector>

using namespace redlock::testing;
using redlock::blocking_client;
using redlock::counting_semaphore;
using redlock::errc;
using redlock::rate_limiter;
using std::chrono::milliseconds;

namespace {

template <class F>
auto in_another_thread(F&& f) {
    return std::async(std::launch::async, std::forward<F>(f));
}

using instants = std::vector<redlock::clock::time_point>;

// A program of its own, which takes what it may until the time is over, and writes to the pipe when
// that was.
pid_t start_program(const redlock::client_options& options, std::uint16_t limit,
                    milliseconds period, redlock::clock::time_point end, int pipe) {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    int status = 0;
    {
        blocking_client client(options);
        rate_limiter limiter(client, "r", limit, period);
        while (redlock::clock::now() < end) {
            const auto got = limiter.try_acquire();
            const auto count = got.at.time_since_epoch().count();
            if (!got) std::this_thread::sleep_for(got.retry_after);
            else if (::write(pipe, &count, sizeof count) != sizeof count) status = 1;
        }
    }
    ::_exit(status);
}

instants read_all(int pipe) {
    instants out;
    redlock::clock::rep count = 0;
    while (::read(pipe, &count, sizeof count) == sizeof count) {
        out.emplace_back(redlock::clock::duration(count));
    }
    return out;
}

}  // namespace

TEMPLATE_TEST_CASE("a mutex excludes another program, waits for it, and reports a loss",
                   "[lockables]", redlock::mutex, redlock::recursive_mutex,
                   redlock::shared_mutex) {
    founded_cluster nodes(3);
    blocking_client here(nodes.options());
    blocking_client elsewhere(nodes.options());
    TestType mine(here, "r");
    TestType other(elsewhere, "r");
    mine.lock();
    const auto fence = mine.fence();
    CHECK(fence > 0);
    CHECK(eventually([&] { return nodes.holding("r") == 3; }));
    CHECK_FALSE(other.try_lock());
    auto waiter = in_another_thread([&] {
        const std::lock_guard lock(other);
        return other.fence();
    });
    CHECK(eventually([&] { return all_know_of(nodes, 1); }));
    mine.unlock();
    CHECK(waiter.get() > fence);
    mine.lock();
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes.ask(i).set("r", "another owner");
    CHECK(thrown_by([&] { mine.unlock(); }) == errc::lost);
    unlock_by_hand(nodes, "r");
    CHECK(eventually([&] { return nodes.keys() == 0; }));
}

TEST_CASE("a shared mutex is shared by programs, and kept from one that would be alone",
          "[lockables]") {
    founded_cluster nodes(3);
    blocking_client here(nodes.options());
    blocking_client elsewhere(nodes.options());
    redlock::shared_mutex mine(here, "r");
    redlock::shared_mutex other(elsewhere, "r");
    {
        const std::shared_lock one(mine);
        const std::shared_lock two(other, patience);
        CHECK(two.owns_lock());
        CHECK_FALSE(in_another_thread([&] { return mine.try_lock(); }).get());
    }
    const std::unique_lock alone(mine, patience);
    CHECK(alone.owns_lock());
    CHECK_FALSE(other.try_lock_shared());
}

TEST_CASE("a semaphore has as many slots for all programs together, and no more",
          "[lockables]") {
    founded_cluster nodes(3);
    blocking_client here(nodes.options());
    blocking_client elsewhere(nodes.options());
    counting_semaphore mine(here, "r", 2);
    counting_semaphore other(elsewhere, "r", 2);
    mine.acquire();
    REQUIRE(other.try_acquire_for(patience));
    CHECK(mine.slot() != other.slot());
    CHECK_FALSE(mine.try_acquire());
    auto waiter = in_another_thread([&] {
        mine.acquire();
        mine.release();
    });
    CHECK(eventually([&] { return all_know_of(nodes, 1); }));
    other.release();
    waiter.get();
    mine.release();
    CHECK(eventually([&] { return nodes.holding("r#0") + nodes.holding("r#1") == 0; }));
}

// How much of the limit is reached is not judged: a busy machine reaches less.
TEST_CASE("no window of what several programs are allowed holds more than the limit",
          "[lockables]") {
    constexpr std::uint16_t limit = 10;
    constexpr milliseconds period = 500ms;
    founded_cluster nodes(3);
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const auto end = redlock::clock::now() + 3 * period + period / 2;
    std::vector<pid_t> pids;
    for (int i = 0; i < 2; ++i) {
        pids.push_back(start_program(nodes.options(), limit, period, end, ends[1]));
    }
    ::close(ends[1]);
    const instants all = read_all(ends[0]);
    ::close(ends[0]);
    for (const pid_t pid : pids) {
        int status = -1;
        REQUIRE(::waitpid(pid, &status, 0) == pid);
        CHECK(status == 0);
    }
    CHECK(most_in_a_window(all, period) <= limit);
    CHECK(all.size() >= limit);
}

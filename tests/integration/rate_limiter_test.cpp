// The rate limiter on real servers: every window of the recorded histories; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "../support/windows.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"

#include <redlock/rate_limiter.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <future>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using namespace redlock::testing;
using redlock::blocking_client;
using redlock::errc;
using redlock::rate_limiter;
using std::chrono::milliseconds;

namespace {

using instants = std::vector<redlock::clock::time_point>;

template <class F>
std::error_code limiter_code(F&& f) {
    try {
        f();
    } catch (const std::system_error& e) {
        return e.code();
    }
    return {};
}

std::size_t taken_slots(cluster& nodes, int limit) {
    std::size_t found = 0;
    for (int i = 0; i < limit; ++i) {
        found += nodes.holding("r#" + std::to_string(i)) > nodes.size() / 2 ? 1 : 0;
    }
    return found;
}

// Asks again as soon as it may, until the time is over.
void demand(rate_limiter& of, redlock::clock::time_point end, instants& out) {
    while (redlock::clock::now() < end) {
        try {
            const auto got = of.try_acquire();
            if (got) out.push_back(got.at);
            // Others may give back what they took in vain.
            if (!got) std::this_thread::sleep_for(std::min(got.retry_after, milliseconds(20)));
        } catch (const std::system_error&) {
            std::this_thread::sleep_for(1ms);  // a node is being restarted
        }
    }
}

// A program of its own, which the thread sanitizer could not follow. Writes its instants to the
// pipe.
pid_t start_program(const redlock::client_options& options, std::uint16_t limit,
                    milliseconds period, redlock::clock::time_point end, int pipe) {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    instants out;
    {
        blocking_client client(options);
        rate_limiter limiter(client, "r", limit, period);
        demand(limiter, end, out);
    }
    for (const auto& at : out) {
        const auto count = at.time_since_epoch().count();
        if (::write(pipe, &count, sizeof count) != sizeof count) ::_exit(1);
    }
    ::_exit(0);
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

TEST_CASE("as many as the limit are allowed at once, and the next after a period", "[limiter]") {
    cluster nodes(3);
    found(nodes);
    blocking_client client(nodes.options());
    blocking_client elsewhere(nodes.options());
    rate_limiter limiter(client, "r", 3, 3s);
    rate_limiter there(elsewhere, "r", 3, 3s);
    instants allowed;
    for (auto* each : {&limiter, &there, &limiter}) {
        const auto got = each->try_acquire();
        REQUIRE(got.allowed);
        CHECK(got.retry_after == 0ms);
        allowed.push_back(got.at);
    }
    const auto refused = there.try_acquire();
    const auto asked = redlock::clock::now();
    CHECK_FALSE(refused.allowed);
    CHECK(refused.retry_after > 0ms);
    // Who goes away leaves the slots taken.
    REQUIRE(client.close());
    redlock::clock::time_point free;
    auto taken_at = asked;  // the last time that it was seen not to be free
    REQUIRE(eventually([&] {
        const auto begun = redlock::clock::now();
        const auto got = there.try_acquire();
        free = got.at;
        if (!got.allowed) taken_at = begun;
        return got.allowed;
    }));
    CHECK(free >= allowed.front() + 3s);
    const auto waited = free - asked;
    print_ms("retry after", refused.retry_after);
    print_ms("free after", waited);
    CHECK(waited > refused.retry_after * 0.9);
    CHECK(taken_at - asked < refused.retry_after * 1.1 + 500ms);
    allowed.push_back(free);
    CHECK(most_in_a_window(allowed, 3s) <= 3);
}

TEST_CASE("what the nodes can't keep is refused with both figures", "[limiter]") {
    cluster nodes(1);
    auto options = nodes.options();
    options.ttl_max = 10s;
    blocking_client client(options);
    const auto make = [&](std::uint16_t limit, milliseconds period, std::string name = "r") {
        return limiter_code([&] { rate_limiter(client, std::move(name), limit, period); });
    };
    CHECK(make(1, 9s) == std::error_code());
    CHECK(make(1'000, 9s) == std::error_code());
    CHECK(make(1'001, 9s) == errc::invalid_argument);
    CHECK(make(0, 9s) == errc::invalid_argument);
    CHECK(make(1, 0ms) == errc::invalid_argument);
    CHECK(make(1, -1ms) == errc::invalid_argument);
    CHECK(make(1, milliseconds::max()) == errc::invalid_argument);
    CHECK(make(1, 9s, "") == errc::invalid_argument);
    try {
        rate_limiter(client, "r", 1, 10s);
        FAIL("a period that the nodes can't keep");
    } catch (const std::system_error& e) {
        const std::string text = e.what();
        INFO(text);
        CHECK(text.find("10000 ms is above 9698 ms") != std::string::npos);
        CHECK(text.find("ttl_max of 10000 ms") != std::string::npos);
    }
    blocking_client plain(nodes.options(false));
    CHECK(limiter_code([&] { rate_limiter(plain, "r", 1, 1s); }) == errc::invalid_argument);
}

TEST_CASE("a try without a quorum uses nothing up, and says why", "[limiter]") {
    cluster nodes(3);
    found(nodes);
    auto options = nodes.options();
    options.node_timeout = 300ms;
    blocking_client client(options);
    rate_limiter limiter(client, "r", 2, 20s);
    nodes.stop(0);
    nodes.stop(1);
    for (int i = 0; i < 3; ++i) {
        CHECK(limiter_code([&] { (void)limiter.try_acquire(); }) == errc::no_quorum);
    }
    nodes.cont(0);
    nodes.cont(1);
    // The frozen nodes take the keys now, and find the releases behind them.
    int allowed = 0;
    REQUIRE(eventually([&] {
        (void)limiter_code([&] { allowed += limiter.try_acquire() ? 1 : 0; });
        return allowed == 2;
    }));
    bool is_third = true;
    REQUIRE(eventually([&] {
        return limiter_code([&] { is_third = limiter.try_acquire().allowed; }) == std::error_code();
    }));
    CHECK_FALSE(is_third);
}

TEST_CASE("a grant that comes late does not count, and its slot is given back", "[limiter]") {
    cluster nodes(3);
    found(nodes);
    std::atomic<int> stalls = 1;
    auto options = nodes.options();
    options.on_event = [&](const redlock::event& e) {
        // The answer was there in time, and the program learns of it half a second later.
        if (e.kind == redlock::event_kind::granted && stalls-- > 0) {
            std::this_thread::sleep_for(500ms);
        }
    };
    blocking_client client(options);
    rate_limiter limiter(client, "r", 5, 5s);
    const auto begun = redlock::clock::now();
    const auto got = limiter.try_acquire();
    CHECK(got.allowed);
    CHECK(got.at >= begun + 500ms);
    CHECK(client.stats().granted >= 2);
    CHECK(eventually([&] { return taken_slots(nodes, 5) == 1; }));
    // It stays so until the period is over.
    std::this_thread::sleep_until(got.at + 4900ms);
    const auto left = taken_slots(nodes, 5);
    CHECK((left == 1 || redlock::clock::now() > got.at + 5s));
}

// How much of the limit is reached is printed and not judged: a busy machine reaches less.
TEST_CASE("no window of any history holds more than the limit", "[limiter]") {
    constexpr std::uint16_t limit = 40;
    constexpr milliseconds period = 2s;
    constexpr int periods = 4;
    constexpr int programs = 4;
    cluster nodes(5);
    found(nodes);
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const auto begun = redlock::clock::now();
    const auto end = begun + period * periods + 300ms;
    std::vector<pid_t> pids;
    for (int i = 0; i < programs; ++i) {
        pids.push_back(start_program(nodes.options(), limit, period, end, ends[1]));
    }
    ::close(ends[1]);
    std::this_thread::sleep_until(begun + period + period / 3);
    nodes.restart(4, redis_server::data::empty);
    std::this_thread::sleep_until(begun + 2 * period + period / 3);
    nodes.restart(3, redis_server::data::empty);
    const instants all = read_all(ends[0]);
    ::close(ends[0]);
    for (const pid_t pid : pids) {
        int status = -1;
        REQUIRE(::waitpid(pid, &status, 0) == pid);
        CHECK(status == 0);
    }
    REQUIRE_FALSE(all.empty());
    CHECK(most_in_a_window(all, period) <= limit);
    CHECK(most_in_a_window(all, period) > limit / 2);  // or nothing was tested
    // After the first, which came at once, they come as slots are free again.
    const auto [first, last] = std::minmax_element(all.begin(), all.end());
    const double length = std::chrono::duration<double>(*last - *first) / period;
    const double share = (static_cast<double>(all.size()) - limit) / (length * limit);
    std::printf("    %zu allowed, %.1f %% of the limit\n", all.size(), share * 100);
}

TEST_CASE("a thousand are allowed per period", "[limiter][threads]") {
    constexpr std::uint16_t limit = 1'000;
    cluster nodes(3);
    found(nodes);
    blocking_client client(nodes.options());
    rate_limiter limiter(client, "r", limit, 50s);
    std::atomic<int> allowed = 0;
    std::atomic<int> refused = 0;
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&] {
            const auto end = redlock::clock::now() + 40s;
            while (allowed < limit && redlock::clock::now() < end) {
                ++(limiter.try_acquire() ? allowed : refused);
            }
        });
    }
    threads.clear();
    CHECK(allowed == limit);
    const auto next = limiter.try_acquire();
    CHECK_FALSE(next.allowed);
    CHECK(next.retry_after > 0ms);
    CHECK(next.retry_after <= 60s);
}

// The rate limiter on masters in memory: every window of the recorded histories; knows no
// internals.
// SPDX-License-Identifier: MIT
#include "component/support/passing_time.hpp"
#include "support/catch.hpp"
#include "support/windows.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/event.hpp>
#include <redlock/rate_limiter.hpp>

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace redlock::testing;
using redlock::blocking_client;
using redlock::errc;
using redlock::rate_limiter;
using std::chrono::milliseconds;

namespace {

using instant = redlock::clock::time_point;
using instants = std::vector<instant>;

std::size_t taken_slots(const masters& nodes, int limit) {
    std::size_t found = 0;
    for (int i = 0; i < limit; ++i) {
        found += nodes.holding("r#" + std::to_string(i)) >= 2 ? 1 : 0;
    }
    return found;
}

/// Threads that sleep by the moved clock. It moves on while all of them sleep.
class sleepers {
public:
    explicit sleepers(int threads) : awake_(threads) {}

    void sleep_until(instant time) {
        std::unique_lock lock(mutex_);
        const auto alarm = alarms_.insert(time);
        --awake_;
        change_.notify_all();
        change_.wait(lock, [&] { return redlock::clock::now() >= time; });
        alarms_.erase(alarm);
        ++awake_;
    }
    /// One of the threads is over.
    void leave() {
        const std::lock_guard lock(mutex_);
        --awake_;
        change_.notify_all();
    }
    void move_until(masters& nodes, instant time) {
        while (redlock::clock::now() < time) {
            nodes.advance(std::min(next_alarm(), time) - redlock::clock::now());
            const std::lock_guard lock(mutex_);
            change_.notify_all();
        }
    }

private:
    // A thread that waits for a node needs the clock, too: it is not waited for much longer than
    // nodes take to answer.
    instant next_alarm() {
        std::unique_lock lock(mutex_);
        const auto now = redlock::clock::now();
        const bool all_sleep = change_.wait_for(lock, 20ms, [&] {
            return awake_ == 0 && (alarms_.empty() || *alarms_.begin() > now);
        });
        return all_sleep && !alarms_.empty() ? *alarms_.begin() : now + 1ms;
    }

    std::mutex mutex_;
    std::condition_variable change_;
    std::multiset<instant> alarms_;
    int awake_;
};

/// Tries again as soon as it may, until the time is over. The calls cost one to `dearest`, in turn.
/// A call is there as often as it costs.
instants demand(rate_limiter& of, instant end, sleepers& all, std::uint16_t dearest) {
    instants out;
    std::uint16_t cost = 1;
    while (redlock::clock::now() < end) {
        auto pause = 1ms;
        try {
            const auto got = of.try_acquire(cost);
            if (got) out.insert(out.end(), cost, got.at);
            if (got) cost = static_cast<std::uint16_t>(cost % dearest + 1);
            if (got) continue;
            // Others may give back what they took in vain.
            pause = std::min(got.retry_after, milliseconds(100));
        } catch (const std::system_error&) {
            // A node is being restarted.
        }
        all.sleep_until(std::min(redlock::clock::now() + pause, end));
    }
    all.leave();
    return out;
}

}  // namespace

TEST_CASE_METHOD(two_clients,
                 "as many as the limit are allowed at once, and the next after a period",
                 "[limiter]") {
    rate_limiter limiter(client, "r", 3, 3s);
    rate_limiter there(other_client, "r", 3, 3s);
    instants allowed;
    for (auto* each : {&limiter, &there, &limiter}) {
        const auto got = each->try_acquire();
        REQUIRE(got.allowed);
        CHECK(got.retry_after == 0ms);
        allowed.push_back(got.at);
    }
    const auto refused = there.try_acquire();
    const auto refused_at = redlock::clock::now();
    CHECK_FALSE(refused.allowed);
    CHECK(refused.retry_after > 0ms);
    // The slots of a client that goes away stay taken.
    REQUIRE(client.close());
    while (redlock::clock::now() + 100ms < refused_at + refused.retry_after) {
        nodes.advance(100ms);
        CHECK_FALSE(there.try_acquire().allowed);
    }
    instant free;
    REQUIRE(pass_until(nodes, [&] {
        const auto got = there.try_acquire();
        free = got.at;
        return got.allowed;
    }));
    CHECK(free >= allowed.front() + 3s);
    CHECK(free >= refused_at + refused.retry_after - 1ms);
    CHECK(free <= refused_at + refused.retry_after + 5ms);
    allowed.push_back(free);
    CHECK(most_in_a_window(allowed, 3s) <= 3);
}

TEST_CASE_METHOD(two_clients, "a call that costs several counts as often, or not at all",
                 "[limiter]") {
    rate_limiter limiter(client, "r", 10, 3s);
    rate_limiter there(other_client, "r", 10, 3s);
    REQUIRE(limiter.try_acquire(4).allowed);
    CHECK(taken_slots(nodes, 10) == 4);
    REQUIRE(there.try_acquire(5).allowed);
    const auto refused = limiter.try_acquire(2);
    CHECK_FALSE(refused.allowed);
    CHECK(refused.retry_after > 2s);
    CHECK(taken_slots(nodes, 10) == 9);
    REQUIRE(limiter.try_acquire().allowed);
    CHECK(taken_slots(nodes, 10) == 10);
    nodes.advance(4s);
    const passing_time running(nodes);
    CHECK(there.acquire_for(1s, 10).allowed);
    CHECK(taken_slots(nodes, 10) == 10);
    CHECK(limiter.acquire_for(1h, 10).allowed);
}

TEST_CASE_METHOD(one_client, "a cost that can't be is refused, and nothing is taken", "[limiter]") {
    rate_limiter limiter(client, "r", 10, 3s);
    for (const auto cost : {0, 11}) {
        CHECK(thrown_by([&] { (void)limiter.try_acquire(static_cast<std::uint16_t>(cost)); }) ==
              errc::invalid_argument);
    }
    try {
        (void)limiter.acquire_for(1h, 11);
        FAIL("a cost above the limit");
    } catch (const std::system_error& e) {
        const std::string text = e.what();
        INFO(text);
        CHECK(text.find("a cost of 11 can't be: it must be 1 to 10, the limit") != text.npos);
    }
    CHECK(taken_slots(nodes, 10) == 0);
}

TEST_CASE("what the nodes can't keep is refused with both figures", "[limiter]") {
    masters nodes(1);
    auto options = nodes.options();
    options.ttl_max = 10s;
    blocking_client client(options);
    const auto make = [&](std::uint16_t limit, milliseconds period, std::string name = "r") {
        return thrown_by([&] { rate_limiter(client, std::move(name), limit, period); });
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
    options.fencing = false;
    blocking_client plain(options);
    CHECK(thrown_by([&] { rate_limiter(plain, "r", 1, 1s); }) == errc::invalid_argument);
}

TEST_CASE_METHOD(one_client, "a try without a quorum uses nothing up, and says why", "[limiter]") {
    rate_limiter limiter(client, "r", 2, 20s);
    nodes.hang(0);
    nodes.hang(1);
    {
        const passing_time running(nodes);
        for (int i = 0; i < 3; ++i) {
            CHECK(thrown_by([&] { (void)limiter.try_acquire(); }) == errc::no_quorum);
        }
    }
    // These take the keys now, and find the releases behind them.
    nodes.resume(0);
    nodes.resume(1);
    int allowed = 0;
    REQUIRE(pass_until(nodes, [&] {
        (void)thrown_by([&] { allowed += limiter.try_acquire() ? 1 : 0; });
        return allowed == 2;
    }));
    bool is_third = true;
    REQUIRE(pass_until(nodes, [&] {
        return thrown_by([&] { is_third = limiter.try_acquire().allowed; }) == std::error_code();
    }));
    CHECK_FALSE(is_third);
}

TEST_CASE("a grant that comes late does not count, and its slot is given back", "[limiter]") {
    masters nodes;
    std::atomic<int> stalls = 1;
    boost::asio::io_context nobody;
    auto options = nodes.options();
    options.on_event = [&](const redlock::event& e) {
        // The answer was there in time, and the program learns of it half a second later.
        if (e.kind == redlock::event_kind::granted && stalls-- > 0) nodes.advance(nobody, 500ms);
    };
    blocking_client client(options);
    rate_limiter limiter(client, "r", 5, 5s);
    const auto began = redlock::clock::now();
    const auto got = limiter.try_acquire();
    CHECK(got.allowed);
    CHECK(got.at >= began + 500ms);
    CHECK(client.stats().granted >= 2);
    nodes.advance(0s);
    CHECK(taken_slots(nodes, 5) == 1);
    // It stays so until the period is over.
    nodes.advance(got.at + 5s - 1ms - redlock::clock::now());
    CHECK(taken_slots(nodes, 5) == 1);
}

TEST_CASE_METHOD(one_client, "acquire_for blocks until one more is allowed, or says that none was",
                 "[limiter][threads]") {
    rate_limiter limiter(client, "r", 1, 3s);
    const passing_time running(nodes);
    const auto first = limiter.acquire_for(1h);
    CHECK(first.allowed);
    const auto second = limiter.acquire_for(std::chrono::minutes(1));
    CHECK(second.allowed);
    CHECK(second.at >= first.at + 3s);
    try {
        (void)limiter.acquire_for(100ms);
        FAIL("allowed");
    } catch (const std::system_error& e) {
        const std::string text = e.what();
        INFO(text);
        CHECK(e.code() == errc::contended);
        CHECK(text.find("lock \"r\": 0 of 3 nodes granted") != std::string::npos);
    }
    CHECK(thrown_by([&] { (void)limiter.acquire_for(-1s); }) == errc::contended);
}

TEST_CASE_METHOD(one_client, "a stop ends acquire_for, and uses up no slot", "[limiter][threads]") {
    rate_limiter limiter(client, "r", 1, 3s);
    std::stop_source stop;
    std::error_code ended;
    {
        REQUIRE(limiter.try_acquire());
        std::jthread waiter([&] {
            ended = thrown_by([&] { (void)limiter.acquire_for(1h, stop.get_token()); });
        });
        // As soon as that thread waits a call that does not is refused without votes.
        REQUIRE(pass_until(nodes, [&] { return limiter.try_acquire().why.votes.empty(); }));
        stop.request_stop();
    }
    CHECK(ended == std::errc::operation_canceled);
    CHECK(thrown_by([&] { (void)limiter.acquire_for(1h, stop.get_token()); }) ==
          std::errc::operation_canceled);
    nodes.advance(4s);
    CHECK(taken_slots(nodes, 1) == 0);
    CHECK(limiter.try_acquire());
}

TEST_CASE("no window of any history holds more than the limit", "[limiter][threads]") {
    constexpr std::uint16_t limit = 40;
    const auto dearest = GENERATE(std::uint16_t{1}, std::uint16_t{7});
    constexpr milliseconds period = 2s;
    constexpr int periods = 4;
    constexpr int programs = 4;
    masters nodes(5);
    sleepers all(programs);
    const auto began = redlock::clock::now();
    const auto end = began + period * periods + 300ms;
    std::mutex gate;
    instants allowed;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < programs; ++i) {
            threads.emplace_back([&] {
                blocking_client client(nodes.options());
                rate_limiter limiter(client, "r", limit, period);
                const auto mine = demand(limiter, end, all, dearest);
                const std::lock_guard lock(gate);
                allowed.insert(allowed.end(), mine.begin(), mine.end());
            });
        }
        all.move_until(nodes, began + period + period / 3);
        nodes.restart(4, masters::data::lost);
        all.move_until(nodes, began + 2 * period + period / 3);
        nodes.restart(3, masters::data::lost);
        all.move_until(nodes, end);
        const passing_time running(nodes);
        threads.clear();
    }
    CHECK(most_in_a_window(allowed, period) <= limit);
    CHECK(most_in_a_window(allowed, period) > limit / 2);  // or nothing was tested
    CHECK(allowed.size() > limit * (periods - 1));
}

namespace {

/// Tries every 100 ms or so for that long.
instants try_often(masters& nodes, rate_limiter& of, milliseconds time) {
    instants out;
    const auto end = redlock::clock::now() + time;
    while (redlock::clock::now() < end) {
        {
            const passing_time running(nodes);
            if (const auto got = of.try_acquire()) out.push_back(got.at);
        }
        nodes.advance(100ms);
    }
    return out;
}

}  // namespace

// The quorums have one node in common: it alone knows of both.
TEST_CASE_METHOD(two_clients, "where programs name different periods the longer counts",
                 "[limiter]") {
    rate_limiter slow(client, "r", 2, 10s);
    rate_limiter quick(other_client, "r", 2, 1s);
    nodes.shut_down(2);
    instants allowed = try_often(nodes, slow, 1ms);
    REQUIRE(allowed.size() == 1);
    nodes.resume(2);
    nodes.advance(1s);
    nodes.shut_down(0);
    const auto note = [&](const instants& more) {
        allowed.insert(allowed.end(), more.begin(), more.end());
    };
    note(try_often(nodes, quick, 7s));
    nodes.resume(0);
    note(try_often(nodes, quick, 8s));
    note(try_often(nodes, slow, 8s));
    CHECK(allowed.size() >= 3);
    CHECK(most_in_a_window(allowed, 10s) == 2);
}

namespace {

int allowed_now(rate_limiter& of) {
    int allowed = 0;
    while (of.try_acquire()) ++allowed;
    return allowed;
}

}  // namespace

TEST_CASE_METHOD(two_clients, "the limit that was set last counts for all programs, up and down",
                 "[limiter]") {
    rate_limiter one(client, "r", 4, 3s);
    rate_limiter other(other_client, "r", 4, 3s);
    one.set_limit(2);
    CHECK(allowed_now(other) == 2);
    CHECK(allowed_now(one) == 0);
    nodes.advance(4s);
    CHECK(allowed_now(other) == 2);
    other.set_limit(6);
    CHECK(allowed_now(one) == 4);
    nodes.advance(4s);
    // Also for a program that is started now, with the old number.
    blocking_client third_client(nodes.options());
    rate_limiter third(third_client, "r", 4, 3s);
    CHECK(allowed_now(third) == 6);
    nodes.advance(4s);
    one.set_limit(1);
    CHECK(thrown_by([&] { (void)one.try_acquire(2); }) == errc::invalid_argument);
    CHECK(thrown_by([&] { (void)other.try_acquire(2); }) == errc::invalid_argument);
    CHECK(thrown_by([&] { one.set_limit(0); }) == errc::invalid_argument);
    CHECK(thrown_by([&] { one.set_limit(1'001); }) == errc::invalid_argument);
    CHECK(allowed_now(other) == 1);
}

TEST_CASE_METHOD(two_clients, "a limit that was set counts for a day and longer while it is used",
                 "[limiter]") {
    rate_limiter one(client, "r", 4, 3s);
    rate_limiter other(other_client, "r", 4, 3s);
    one.set_limit(6);
    nodes.advance(23h);
    CHECK(allowed_now(other) == 6);
    nodes.advance(2h);
    CHECK(allowed_now(other) == 6);  // it knows
    CHECK(allowed_now(one) == 0);
    nodes.advance(4s);
    blocking_client third_client(nodes.options());
    rate_limiter third(third_client, "r", 4, 3s);
    CHECK(allowed_now(third) == 6);  // by what that one named
    nodes.advance(1min);  // nobody has named it for longer than it counts
    blocking_client last_client(nodes.options());
    rate_limiter last(last_client, "r", 4, 3s);
    CHECK(allowed_now(last) == 4);
}

TEST_CASE_METHOD(two_clients,
                 "a limit is set on a quorum, and nodes that forget it learn of it again",
                 "[limiter]") {
    rate_limiter one(client, "r", 4, 3s);
    rate_limiter other(other_client, "r", 4, 3s);
    nodes.hang(0);
    nodes.hang(1);
    {
        const passing_time running(nodes);
        CHECK(thrown_by([&] { one.set_limit(2); }) == errc::no_quorum);
    }
    nodes.resume(0);
    nodes.resume(1);
    nodes.advance(1s);
    one.set_limit(2);
    for (std::size_t i = 0; i < 3; ++i) {
        nodes.restart(i, masters::data::lost);
        nodes.advance(62s);
        const passing_time running(nodes);
        CHECK(one.acquire_for(1min).allowed);
    }
    nodes.advance(4s);
    CHECK(allowed_now(other) == 2);
}

TEST_CASE_METHOD(two_clients,
                 "while limits are set no window holds more than the largest, and then than the last",
                 "[limiter]") {
    rate_limiter one(client, "r", 8, 2s);
    rate_limiter other(other_client, "r", 8, 2s);
    std::uint16_t before = 8;
    for (const std::uint16_t limit : std::vector<std::uint16_t>{3, 8, 5, 1, 7, 2}) {
        instants allowed = try_often(nodes, other, 2'500ms);
        one.set_limit(limit);
        const instant begun = redlock::clock::now();
        const auto more = try_often(nodes, other, 5'000ms);
        allowed.insert(allowed.end(), more.begin(), more.end());
        CHECK(most_in_a_window(allowed, 2s) <= std::max(before, limit));
        std::erase_if(allowed, [&](instant at) { return at < begun; });
        CHECK(most_in_a_window(allowed, 2s) == limit);
        before = limit;
    }
}

TEST_CASE_METHOD(two_clients, "a period that nobody names any more stops counting", "[limiter]") {
    rate_limiter slow(client, "r", 2, 10s);
    rate_limiter quick(other_client, "r", 2, 1s);
    REQUIRE(slow.try_acquire().allowed);
    CHECK(try_often(nodes, quick, 5s).size() == 1);
    (void)try_often(nodes, quick, 25s);
    const auto at_last = try_often(nodes, quick, 5s);
    CHECK(at_last.size() >= 6);
    CHECK(most_in_a_window(at_last, 1s) == 2);
}

TEST_CASE("a thousand are allowed per period", "[limiter][threads]") {
    constexpr std::uint16_t limit = 1'000;
    masters nodes;
    blocking_client client(nodes.options());
    rate_limiter limiter(client, "r", limit, 50s);
    std::atomic<int> allowed = 0;
    std::atomic<int> refused = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 8; ++t) {
            threads.emplace_back([&] {
                while (allowed < limit && refused < 100 * limit) {
                    ++(limiter.try_acquire() ? allowed : refused);
                }
            });
        }
    }
    CHECK(allowed == limit);
    const auto next = limiter.try_acquire();
    CHECK_FALSE(next.allowed);
    CHECK(next.retry_after > 0ms);
    CHECK(next.retry_after <= 60s);
}

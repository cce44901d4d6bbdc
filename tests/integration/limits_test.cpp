// Rate limits and slots of programs with an event loop, on real servers: coroutines of several
// clients, waits that end early, and all that is destroyed in the middle; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "../support/thrown_by.hpp"
#include "../support/windows.hpp"
#include "support/founded.hpp"
#include "support/waiting.hpp"

#include <redlock/async_rate_limiter.hpp>
#include <redlock/blocking_client.hpp>
#include <redlock/client.hpp>
#include <redlock/rate_limiter.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

using std::chrono::milliseconds;

std::size_t slots_on_nodes(cluster& nodes) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) found += nodes.ask(i).keys("r#*").size();
    return found;
}

/// Clients on one context, and when their coroutines were allowed.
struct crowd_of_users {
    asio::awaitable<void> call(async_rate_limiter& of, clock::time_point end) {
        while (clock::now() < end) {
            const auto said = co_await of.async_acquire_for(20s, asio::use_awaitable);
            if (said) allowed.push_back(said.at);
        }
    }
    asio::awaitable<void> try_often(async_rate_limiter& of, clock::time_point end) {
        asio::steady_timer pause(co_await asio::this_coro::executor);
        while (clock::now() < end) {
            const limit_answer said = co_await of.async_try_acquire(asio::use_awaitable);
            if (said) {
                allowed.push_back(said.at);
            } else {
                pause.expires_after(said.retry_after);
                co_await pause.async_wait(asio::use_awaitable);
            }
        }
    }
    asio::awaitable<void> work(client& of, acquire_options one_slot, int turns) {
        for (int i = 0; i < turns; ++i) {
            lease mine = co_await of.async_acquire("r", one_slot, asio::use_awaitable);
            if (!busy.insert(mine.slot()).second) ++clashes;
            asio::steady_timer pause(co_await asio::this_coro::executor, 1ms);
            co_await pause.async_wait(asio::use_awaitable);
            if (!mine) ++clashes;
            busy.erase(mine.slot());
            ++done;
            if (i % 2 == 0) {
                co_await of.async_release(std::move(mine), asio::use_awaitable);
            } else {
                mine = lease();  // in the background
            }
        }
    }
    void spawn(asio::awaitable<void> what) {
        ++running;
        asio::co_spawn(context, std::move(what), [this](const std::exception_ptr& failure) {
            failures += failure ? 1 : 0;
            --running;
        });
    }
    bool finish() {
        return run_until(context, [this] { return running == 0; }, 3 * patience);
    }

    asio::io_context context{};
    std::vector<clock::time_point> allowed{};
    std::set<std::uint16_t> busy{};
    int clashes = 0;
    int done = 0;
    int running = 0;
    int failures = 0;
};

}  // namespace

// How much of the limit is reached is not judged: a busy machine reaches less.
TEST_CASE("no window of what coroutines of several clients are allowed holds more than the limit",
          "[limits]") {
    constexpr std::uint16_t limit = 10;
    constexpr milliseconds period = 400ms;
    founded_cluster nodes(3);
    crowd_of_users all;
    std::vector<std::unique_ptr<client>> clients;
    std::vector<std::unique_ptr<async_rate_limiter>> limiters;
    const auto end = clock::now() + 4 * period;
    for (int i = 0; i < 3; ++i) {
        clients.push_back(std::make_unique<client>(all.context, nodes.options()));
        limiters.push_back(
            std::make_unique<async_rate_limiter>(*clients.back(), "r", limit, period));
        for (int k = 0; k < 4; ++k) all.spawn(all.call(*limiters.back(), end));
    }
    clients.push_back(std::make_unique<client>(all.context, nodes.options()));
    limiters.push_back(std::make_unique<async_rate_limiter>(*clients.back(), "r", limit, period));
    all.spawn(all.try_often(*limiters.back(), end));
    REQUIRE(all.finish());
    CHECK(all.failures == 0);
    CHECK(most_in_a_window(all.allowed, period) <= limit);
    CHECK(all.allowed.size() >= limit);
    clients.clear();
    run_until(all.context, [&] { return all.context.stopped(); });
}

TEST_CASE("a wait for a limit ends as soon as a slot is free, or with its reason", "[limits]") {
    founded_cluster nodes(3);
    driver mine(nodes.options());
    driver other(nodes.options());
    async_rate_limiter of_mine(mine.client(), "r", 1, 1500ms);
    async_rate_limiter of_other(other.client(), "r", 1, 1500ms);
    outcome<limit_answer> first;
    of_other.async_try_acquire(first.handler());
    REQUIRE(other.finish(first).value().allowed);
    outcome<limit_answer> refused;
    of_mine.async_acquire_for(50ms, refused.handler());
    CHECK(mine.finish(refused).error() == errc::contended);
    const std::string why = refused.value().why.message();
    INFO(why);
    CHECK(why.find("0 of 3 nodes granted") != std::string::npos);
    CHECK(refused.value().retry_after > 0ms);
    outcome<limit_answer> waits;
    of_mine.async_acquire_for(patience, waits.handler());
    REQUIRE_FALSE(mine.finish(waits).error());
    print_ms("from a period after the first to the next",
             waits.value().at - first.value().at - 1500ms);
    CHECK(waits.value().at - first.value().at >= 1500ms);
}

TEST_CASE("a wait that is cancelled leaves nothing on the nodes", "[limits]") {
    founded_cluster nodes(3);
    driver holder(nodes.options());
    driver user(nodes.options());
    async_rate_limiter taken(holder.client(), "r", 2, 1s);
    async_rate_limiter limiter(user.client(), "r", 2, 1s);
    for (int i = 0; i < 2; ++i) {
        outcome<limit_answer> out;
        taken.async_try_acquire(out.handler());
        REQUIRE(holder.finish(out).value().allowed);
    }
    std::vector<outcome<limit_answer>> waits(3);
    for (const auto& one : waits) limiter.async_acquire_for(patience, one.handler());
    REQUIRE(user.until([&] { return user.client().stats().contended > 0; }));
    for (const auto& one : waits) one.cancel();
    for (const auto& one : waits) {
        CHECK(user.finish(one).error() == asio::error::operation_aborted);
        CHECK_FALSE(one.value().allowed);
    }
    CHECK(user.client().stats().granted == 0);
    CHECK(all_know_of(nodes, 0));
    // What was there runs out, and nothing else is found.
    REQUIRE(user.until([&] { return slots_on_nodes(nodes) == 0; }));
}

TEST_CASE("a blocking wait for a limit is stopped by its token", "[limits]") {
    founded_cluster nodes(3);
    blocking_client client(nodes.options());
    rate_limiter limiter(client, "r", 1, 40s);
    REQUIRE(limiter.acquire_for(patience).allowed);
    std::stop_source stop;
    std::error_code ended;
    {
        std::jthread waiter([&] {
            ended = thrown_by([&] { (void)limiter.acquire_for(patience, stop.get_token()); });
        });
        REQUIRE(eventually([&] { return limiter.try_acquire().why.votes.empty(); }));
        stop.request_stop();
    }
    CHECK(ended == std::errc::operation_canceled);
    CHECK(client.stats().granted == 1);
}

TEST_CASE("a number that one node says was set in the future counts nowhere", "[limits]") {
    founded_cluster nodes(3);
    const std::string counted = "{r}:slots";
    nodes.ask(0).command({"ZADD", counted, "-9000000000000", "k:1/40000@9000000000000000"});
    blocking_client client(nodes.options());
    rate_limiter limiter(client, "r", 3, 40s);
    for (int call = 0; call < 3; ++call) CHECK(limiter.try_acquire().allowed);
    CHECK_FALSE(limiter.try_acquire().allowed);
    limiter.set_limit(4);
    CHECK(limiter.try_acquire().allowed);
}

TEST_CASE("a limit that was set leaves the period to the calls", "[limits]") {
    founded_cluster nodes(3);
    blocking_client client(nodes.options());
    rate_limiter(client, "r", 2, 50s).set_limit(3);
    rate_limiter limiter(client, "r", 2, 200ms);
    for (int call = 0; call < 9; ++call) CHECK(limiter.acquire_for(patience).allowed);
}

TEST_CASE("coroutines of several clients have each slot alone, and all finish", "[limits]") {
    constexpr std::uint16_t slots = 3;
    constexpr int turns = 6;
    founded_cluster nodes(3);
    crowd_of_users all;
    std::vector<std::unique_ptr<client>> clients;
    const acquire_options one_slot{.ttl = 20s, .wait = 60s, .slots = slots};
    for (int i = 0; i < 3; ++i) {
        clients.push_back(std::make_unique<client>(all.context, nodes.options()));
        for (int k = 0; k < 3; ++k) all.spawn(all.work(*clients.back(), one_slot, turns));
    }
    REQUIRE(all.finish());
    CHECK(all.failures == 0);
    CHECK(all.clashes == 0);
    CHECK(all.done == 9 * turns);
    clients.clear();
    run_until(all.context, [&] { return all.context.stopped(); });
    CHECK(slots_on_nodes(nodes) == 0);
}

TEST_CASE("the next waits for a slot until it is released, and a lost slot is reported",
          "[limits]") {
    founded_cluster nodes(3);
    driver mine(nodes.options());
    driver other(nodes.options());
    const auto one = mine.acquire("r", {.ttl = 2s, .wait = 20s, .slots = 2});
    REQUIRE_FALSE(one.error());
    const acquire_options there{.ttl = 20s, .wait = 20s, .slots = 2};
    auto two = other.acquire("r", there);
    REQUIRE_FALSE(two.error());
    CHECK(other.acquire("r", {.ttl = 20s, .wait = 50ms, .slots = 2}).error() == errc::contended);
    const auto waits = other.start_acquire("r", there);
    REQUIRE(other.until([&] { return all_know_of(nodes, 1); }));
    CHECK_FALSE(other.release(std::move(two.value())));
    CHECK_FALSE(other.finish(waits).error());
    outcome<loss> lost;
    mine.client().async_lost(one.value(), lost.handler());
    const std::string key = "r#" + std::to_string(one.value().slot());
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes.ask(i).set(key, "another owner");
    CHECK_FALSE(mine.finish(lost).error());
    CHECK(lost.value() == loss::taken);
    CHECK(one.value().lost_token().stop_requested());
    CHECK(waits.value());
    unlock_by_hand(nodes, key);
}

namespace {

/// A program of both kinds: some calls are allowed at once, some wait, and one has a slot.
struct busy_life {
    busy_life(const client_options& options, int number)
        : context(std::make_unique<asio::io_context>()),
          user(std::make_unique<client>(context->get_executor(), options)),
          limiter(*user, "l" + std::to_string(number), 2, 40s) {
        for (int i = 0; i < 4; ++i) {
            limiter.async_acquire_for(50ms, [this](error_code, const limit_answer&) { end(); });
        }
        limiter.async_try_acquire([this](error_code, const limit_answer&) { end(); });
        const std::string line = "s" + std::to_string(number);
        user->async_acquire(line, {.ttl = 20s, .wait = 1h, .slots = 1},
                            [this](error_code, lease got) {
                                held = std::move(got);
                                end();
                            });
        user->async_acquire(line, {.ttl = 20s, .wait = 50ms, .slots = 1},
                            [this](error_code, lease) { end(); });
    }
    void end() { ++ended; }

    bool run(int handlers) {
        for (int i = 0; i < handlers && ended < 7; ++i) {
            if (context->run_one_for(1s) == 0) break;
        }
        return ended == 7;
    }

    std::unique_ptr<asio::io_context> context;
    std::unique_ptr<client> user;
    async_rate_limiter limiter;
    lease held{};
    int ended = 0;
};

}  // namespace

TEST_CASE("contexts and clients of limiters and slots go at every step",
          "[limits][lifetime]") {
    founded_cluster nodes(3);
    const bool context_first = GENERATE(true, false);
    bool finished = false;
    int steps = 0;
    for (; !finished; ++steps) {
        REQUIRE(steps < 2'000);
        CAPTURE(steps);
        busy_life one(nodes.options(), 2 * steps + (context_first ? 1 : 0));
        finished = one.run(steps);
        if (context_first) {
            one.context.reset();
            CHECK_FALSE(one.held);
        } else {
            one.user.reset();
            REQUIRE(run_until(*one.context, [&] { return one.ended == 7; }));
        }
    }
    CHECK(steps > 10);
}

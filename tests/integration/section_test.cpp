// Sections on real servers: coroutines and threads that count lose no increment, a revoked lease is an
// error of the call, and nothing stays on the nodes; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/founded.hpp"
#include "support/waiting.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/client.hpp>
#include <redlock/guard.hpp>
#include <redlock/with_lock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <atomic>
#include <exception>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

asio::awaitable<void> rest(std::chrono::milliseconds time) {
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(asio::use_awaitable);
}

struct counting {
    client* user;
    std::string text = "a text that is too long to be stored in place";
    int value = 0;
    int running = 0;
    int failures = 0;
};

// Every form in which a section may stand in a co_await expression.
asio::awaitable<void> count(counting& in, int sections) {
    auto slow = [&in, text = in.text](const lease& held, std::stop_token) -> asio::awaitable<int> {
        const int before = in.value;
        co_await rest(1ms);
        if (!held || text != in.text) ++in.failures;
        in.value = before + 1;
        co_return in.value;
    };
    const acquire_options options{.ttl = 20s, .wait = 60s};
    for (int i = 0; i < sections; ++i) {
        const int now = co_await in.user->async_with_lock("r", options, slow);
        if (now <= 0) ++in.failures;
        co_await in.user->async_with_lock("r", options,
                                          [&](const lease&, std::stop_token) { ++in.value; });
        const std::string given = co_await in.user->async_with_lock(
            "r", acquire_options{.ttl = 20s, .wait = 60s},
            [&in](const lease&, std::stop_token) { return in.text + "!"; }, asio::use_awaitable);
        if (given != in.text + "!") ++in.failures;
    }
    if (--in.running == 0) in.user->close();
}

}  // namespace

TEST_CASE("coroutines that count in sections lose no increment", "[section]") {
    founded_cluster nodes(3);
    asio::io_context context;
    client user(context, nodes.options());
    counting all{&user};
    constexpr int coroutines = 8;
    constexpr int sections = 6;
    all.running = coroutines;
    for (int i = 0; i < coroutines; ++i) {
        asio::co_spawn(context, count(all, sections), [](const std::exception_ptr& why) {
            if (why) std::rethrow_exception(why);
        });
    }
    context.run();
    CHECK(all.value == 2 * coroutines * sections);
    CHECK(all.failures == 0);
    CHECK(eventually([&] { return nodes.keys() == 0; }));
}

TEST_CASE("sixteen threads that count in sections lose no increment", "[section][threads]") {
    founded_cluster nodes(3);
    blocking_client one(nodes.options());
    blocking_client other(nodes.options());
    std::atomic<int> value = 0;
    std::atomic<int> refused = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 16; ++t) {
            threads.emplace_back([&, &client = t % 2 == 0 ? one : other] {
                for (int i = 0; i < 5; ++i) {
                    const auto done = with_lock(client, "r", {.ttl = 20s, .wait = 60s},
                                                [&](const lease&, std::stop_token) {
                                                    const int before = value.load();
                                                    std::this_thread::yield();
                                                    value.store(before + 1);
                                                });
                    if (!done.has_value()) ++refused;
                }
            });
        }
    }
    CHECK(value == 80);
    CHECK(refused == 0);
    CHECK(eventually([&] { return nodes.keys() == 0; }));
}

TEST_CASE("a section and a guard whose lease an operator revoked are lost", "[section]") {
    founded_cluster nodes(3);
    blocking_client client(nodes.options());
    blocking_client operator_(nodes.options());
    const auto revoke = [&] {
        const auto shown = operator_.inspect("r");
        REQUIRE(shown.has_value());
        REQUIRE(operator_.revoke(*shown).has_value());
    };
    const auto done =
        with_lock(client, "r", {.ttl = 1s}, [&](const lease&, const std::stop_token& lost) {
            revoke();
            CHECK(eventually([&] { return lost.stop_requested(); }));
            return 1;
        });
    REQUIRE(done.has_error());
    CHECK(done.error() == errc::lost);
    CHECK(done.error().detail.starts_with("taken: "));
    {
        const guard held(client, "r", {.ttl = 1s});
        REQUIRE(held.held());
        revoke();
        CHECK(eventually([&] { return !held.held(); }));
        CHECK(held.why() == errc::lost);
    }
    CHECK(eventually([&] { return nodes.keys() == 0; }));
}

TEST_CASE("a section whose nodes die is cancelled before its lease ends", "[section]") {
    founded_cluster nodes(3);
    asio::io_context context;
    client user(context, nodes.options());
    std::exception_ptr failure;
    bool is_done = false;
    bool is_held = false;
    auto work = [&](const lease& held, std::stop_token) -> asio::awaitable<void> {
        for (;;) {
            is_held = static_cast<bool>(held);
            co_await rest(5ms);
        }
    };
    user.async_with_lock("r", {.ttl = 1s}, work, [&](std::exception_ptr why) {
        failure = std::move(why);
        is_done = true;
    });
    REQUIRE(run_until(context, [&] { return is_held; }));
    nodes.kill(0);
    nodes.kill(1);
    REQUIRE(run_until(context, [&] { return is_done; }));
    CHECK(code_of(failure) == errc::lost);
    CHECK(run_until(context, [&] { return nodes.keys() == 0; }));
    user.close();
}

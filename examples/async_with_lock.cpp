// Sections of coroutines: each runs under a lock, and is cancelled when its lease is lost.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/client.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <stop_token>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

asio::awaitable<void> rest(std::chrono::milliseconds time) {
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(asio::use_awaitable);
}

struct shop {
    int left = 40;
    int sellers = 8;
};

asio::awaitable<void> sell(redlock::client& client, shop& at) {
    // The section has a name: see async_with_lock.hpp. What it refers to lives longer than the call.
    auto one = [&](const redlock::lease&, std::stop_token) -> asio::awaitable<int> {
        const int left = at.left;
        co_await rest(1ms);  // other coroutines run here, but no other section
        at.left = left - 1;
        co_return at.left;
    };
    const redlock::acquire_options options{.ttl = 10s, .wait = 60s};
    for (int i = 0; i < 5; ++i) co_await client.async_with_lock("example:shop", options, one);
    --at.sellers;
}

// The loss comes as an exception, as every error of the lock does.
asio::awaitable<bool> is_cancelled_at_loss(redlock::client& client) {
    bool is_over = false;
    auto endless = [&](const redlock::lease& held, std::stop_token) -> asio::awaitable<void> {
        try {
            for (;;) co_await rest(10ms);
        } catch (const boost::system::system_error&) {
            is_over = !held;
        }
    };
    try {
        const redlock::acquire_options options{.ttl = 2s, .max_hold = 1s};
        co_await client.async_with_lock("example:lost", options, endless);
    } catch (const boost::system::system_error& why) {
        std::cout << why.what() << '\n';
        co_return is_over && why.code() == redlock::errc::lost;
    }
    co_return false;
}

asio::awaitable<bool> is_released_by_an_exception(redlock::client& client) {
    auto fails = [](const redlock::lease&, std::stop_token) -> asio::awaitable<void> {
        throw std::out_of_range("sold out");
        co_return;
    };
    bool is_passed_on = false;
    try {
        co_await client.async_with_lock("example:shop", fails);
    } catch (const std::out_of_range&) {
        is_passed_on = true;
    }
    // Free again: this needs no wait.
    const bool is_held = co_await client.async_with_lock(
        "example:shop", [](const redlock::lease& held, std::stop_token) { return bool(held); });
    co_return is_passed_on && is_held;
}

asio::awaitable<bool> all(redlock::client& client, shop& at) {
    while (at.sellers > 0) co_await rest(5ms);
    const bool cancelled = co_await is_cancelled_at_loss(client);
    co_return cancelled && co_await is_released_by_an_exception(client);
}

}  // namespace

int main(int argc, char** argv) try {
    const redlock::client_options options = example::options(argc, argv);
    asio::io_context context;
    redlock::client client(context, options);
    shop at;
    bool is_so = false;
    auto rethrow = [](const std::exception_ptr& failure) {
        if (failure) std::rethrow_exception(failure);
    };
    auto on_end = [&](const std::exception_ptr& failure, bool shown) {
        rethrow(failure);
        is_so = shown;
        client.close();  // its connections are what keeps the context running
    };
    for (int i = at.sellers; i > 0; --i) asio::co_spawn(context, sell(client, at), rethrow);
    asio::co_spawn(context, all(client, at), on_end);
    context.run();
    return example::check(is_so && at.left == 0,
                          "no sale was lost, a lost section is cancelled, a failed one released");
} catch (const std::exception& why) {
    return example::failed(why);
}

// A coroutine whose work stops when its lease is lost; the loss is provoked with max_hold.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/client.hpp>
#include <redlock/config.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <utility>
#include <variant>

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;

namespace {

// Work that would go on for ever, and notes when it was last done.
asio::awaitable<void> work(redlock::clock::time_point& last) {
    asio::steady_timer pause(co_await asio::this_coro::executor);
    for (;;) {
        last = redlock::clock::now();
        pause.expires_after(10ms);
        co_await pause.async_wait(asio::use_awaitable);
    }
}

asio::awaitable<bool> hold_and_work(redlock::client& client) {
    const redlock::acquire_options options{
        .ttl = 5s, .wait = 10s, .max_hold = 500ms, .loss_margin = 100ms};
    const redlock::lease lease =
        co_await client.async_acquire("example:coroutine", options, asio::use_awaitable);
    redlock::clock::time_point last_worked{};
    // Loss is a success of async_lost, so `||` ends the work: a loss reported as an error would not.
    const auto first =
        co_await (work(last_worked) || client.async_lost(lease, asio::use_awaitable));
    if (first.index() != 1) co_return false;
    std::cout << "lost: " << redlock::to_string(std::get<1>(first)) << '\n';
    co_return std::get<1>(first) == redlock::loss::max_hold && last_worked < lease.valid_until();
}

}  // namespace

int main(int argc, char** argv) {
    asio::io_context context;
    redlock::client client(context.get_executor(),
                           redlock::load_options(example::config_file(argc, argv)).value());
    bool stopped_in_time = false;
    auto on_end = [&](const std::exception_ptr& failure, bool in_time) {
        stopped_in_time = !failure && in_time;
        client.close();
    };
    asio::co_spawn(context, hold_and_work(client), on_end);
    context.run();
    return example::check(stopped_in_time, "the work stopped before the lease ended");
}

// A coroutine whose work stops when its lease is lost; the loss is provoked with max_hold.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/client.hpp>

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

// Work that would never end by itself, and notes when it was last done.
asio::awaitable<void> work(redlock::clock::time_point& last_worked) {
    asio::steady_timer pause(co_await asio::this_coro::executor);
    for (;;) {
        last_worked = redlock::clock::now();
        pause.expires_after(10ms);
        co_await pause.async_wait(asio::use_awaitable);
    }
}

asio::awaitable<bool> work_while_held(redlock::client& client) {
    // The loss is reported two seconds before the end: time to stop in good order.
    const redlock::acquire_options options{
        .ttl = 5s, .wait = 10s, .max_hold = 3s, .loss_margin = 2s};
    const redlock::lease lease =
        co_await client.async_acquire("example:coroutine", options, asio::use_awaitable);

    // `||` cancels what is left when one of the two has succeeded. Loss is a success of async_lost,
    // and for that reason: an error would leave the work running.
    redlock::clock::time_point last_worked{};
    const std::variant<std::monostate, redlock::loss> first =
        co_await (work(last_worked) || client.async_lost(lease, asio::use_awaitable));

    const auto* const reason = std::get_if<redlock::loss>(&first);
    if (reason == nullptr) co_return false;
    std::cout << "lost: " << redlock::to_string(*reason) << '\n';
    const bool worked = last_worked != redlock::clock::time_point{};
    co_return *reason == redlock::loss::max_hold && !lease && worked &&
        last_worked < lease.valid_until();
}

}  // namespace

int main(int argc, char** argv) try {
    const redlock::client_options options = example::options(argc, argv);
    asio::io_context context;
    redlock::client client(context.get_executor(), options);
    bool stopped_in_time = false;
    auto on_end = [&](const std::exception_ptr& failure, bool in_time) {
        if (failure) std::rethrow_exception(failure);
        stopped_in_time = in_time;
        client.close();  // its connections are what keeps the context running
    };
    asio::co_spawn(context, work_while_held(client), on_end);
    context.run();
    return example::check(stopped_in_time, "the work stopped before the lease ended");
} catch (const std::exception& why) {
    return example::failed(why);
}

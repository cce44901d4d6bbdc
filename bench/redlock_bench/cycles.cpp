// Many coroutines that acquire and release, and what that takes; knows no server.
// SPDX-License-Identifier: MIT
#include "allocations.hpp"
#include "setting.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <ctime>
#include <string>
#include <utility>

namespace bench {

namespace asio = boost::asio;

namespace {

constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);
using finish_line = asio::experimental::channel<void(boost::system::error_code)>;

asio::awaitable<void> cycle(redlock::client& client, std::string resource,
                            redlock::clock::time_point until, measured& total,
                            finish_line& done) {
    while (redlock::clock::now() < until) {
        auto [refused, lease] = co_await client.async_acquire(resource, as_tuple);
        if (refused) {
            ++total.failures;
            continue;
        }
        auto [kept] = co_await client.async_release(std::move(lease), as_tuple);
        ++(kept ? total.failures : total.cycles);
    }
    co_await done.async_send({}, asio::use_awaitable);
}

asio::awaitable<void> all_cycles(redlock::client& client, std::size_t workers,
                                 std::chrono::milliseconds duration, measured& total) {
    const auto executor = co_await asio::this_coro::executor;
    finish_line done(executor, workers);
    const auto until = redlock::clock::now() + duration;
    for (std::size_t i = 0; i < workers; ++i) {
        asio::co_spawn(executor,
                       cycle(client, "bench:" + std::to_string(i), until, total, done),
                       asio::detached);
    }
    for (std::size_t i = 0; i < workers; ++i) co_await done.async_receive(asio::use_awaitable);
}

}  // namespace

double cpu_seconds() {
    std::timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

measured measure_cycles(setting& on, std::size_t workers, std::chrono::milliseconds duration) {
    measured total;
    const auto before = on.client().stats();
    const auto begin = redlock::clock::now();
    const double cpu = cpu_seconds();
    const auto allocated = allocations();
    on.run(all_cycles(on.client(), workers, duration, total));
    total.allocations = allocations() - allocated;
    total.cpu_seconds = cpu_seconds() - cpu;
    total.seconds = std::chrono::duration<double>(redlock::clock::now() - begin).count();
    const auto after = on.client().stats();
    total.commands = after.commands - before.commands;
    total.writes = after.writes - before.writes;
    total.reads = after.reads - before.reads;
    return total;
}

}  // namespace bench

// What it takes to keep many leases alive; knows no faults.
// SPDX-License-Identifier: MIT
#include "json_line.hpp"
#include "setting.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;
using finish_line = asio::experimental::channel<void(boost::system::error_code)>;

constexpr std::chrono::milliseconds ttl = 3s;

// So many are asked for at once; all of them together would only wait in line for each other.
constexpr std::size_t takers = 64;

asio::awaitable<void> take_some(redlock::client& client, std::size_t first, std::size_t count,
                                std::vector<redlock::lease>& into) {
    for (std::size_t i = first; i < count; i += takers) {
        const redlock::acquire_options options{.ttl = ttl, .wait = 5s};
        into.push_back(co_await client.async_acquire("kept:" + std::to_string(i), options,
                                                     asio::use_awaitable));
    }
}

asio::awaitable<void> take(redlock::client& client, std::size_t count,
                           std::vector<redlock::lease>& into) {
    const auto executor = co_await asio::this_coro::executor;
    finish_line done(executor, takers);
    for (std::size_t i = 0; i < takers; ++i) {
        asio::co_spawn(executor, take_some(client, i, count, into),
                       [&done](const std::exception_ptr& failure) {
                           if (failure) std::rethrow_exception(failure);
                           done.try_send(boost::system::error_code());
                       });
    }
    for (std::size_t i = 0; i < takers; ++i) co_await done.async_receive(asio::use_awaitable);
}

asio::awaitable<void> keep(std::chrono::milliseconds how_long) {
    asio::steady_timer timer(co_await asio::this_coro::executor, how_long);
    co_await timer.async_wait(asio::use_awaitable);
}

}  // namespace

void measure_renewal(setting& on, const extent& how) {
    for (const std::size_t count : how.leases) {
        std::vector<redlock::lease> leases;
        on.run(take(on.client(), count, leases));
        const auto before = on.client().stats();
        const double cpu = cpu_seconds();
        on.run(keep(std::max<std::chrono::milliseconds>(how.each, ttl)));
        const double cpu_taken = cpu_seconds() - cpu;
        const auto after = on.client().stats();
        leases.clear();
        on.settle();
        const auto renewals = static_cast<double>(after.renewals - before.renewals);
        const auto commands = static_cast<double>(after.commands - before.commands);
        json_line("renewal")
            .add("nodes", on.size())
            .add("mode", on.mode())
            .add("leases", count)
            .add("renewals", after.renewals - before.renewals)
            .add("commands", after.commands - before.commands)
            .add("lost", after.lost - before.lost)
            .add("renewals_per_command_and_node",
                 renewals * static_cast<double>(on.size()) / commands)
            .add("cpu_us_per_renewal", cpu_taken * 1e6 / renewals)
            .print();
    }
}

}  // namespace bench

// Many workers that acquire and release, and what that takes; knows no server.
// SPDX-License-Identifier: MIT
#include "allocations.hpp"
#include "as_tuple.hpp"
#include "callbacks.hpp"
#include "setting.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <ctime>
#include <deque>
#include <string>
#include <utility>

namespace bench {

namespace asio = boost::asio;

namespace {

using finish_line = asio::experimental::channel<void(boost::system::error_code)>;

void add_time_since(redlock::clock::time_point begin, std::vector<double>* to) {
    if (to == nullptr) return;
    to->push_back(std::chrono::duration<double, std::micro>(redlock::clock::now() - begin).count());
}

asio::awaitable<void> cycle(redlock::client& client, std::string resource,
                            redlock::clock::time_point until, const workload& what, measured& total,
                            finish_line& done) {
    for (auto begin = redlock::clock::now(); begin < until;) {
        auto [refused, lease] = co_await client.async_acquire(resource, as_tuple);
        if (!refused) {
            add_time_since(begin, what.acquire_times_us);
            auto [kept] = co_await client.async_release(std::move(lease), as_tuple);
            refused = kept;
        }
        ++(refused ? total.failures : total.cycles);
        add_time_since(begin, what.times_us);
        begin = redlock::clock::now();
    }
    co_await done.async_send({}, asio::use_awaitable);
}

std::string resource_of(std::size_t worker) { return "bench:" + std::to_string(worker); }

asio::awaitable<void> all_cycles(redlock::client& client, const workload& what, measured& total) {
    const auto executor = co_await asio::this_coro::executor;
    finish_line done(executor, what.workers);
    std::deque<callback_worker> by_callbacks;
    const auto until = redlock::clock::now() + what.duration;
    for (std::size_t i = 0; i < what.workers; ++i) {
        if (what.by == style::callbacks) {
            by_callbacks
                .emplace_back(client, resource_of(i), until, total,
                              [&done] { done.try_send(boost::system::error_code()); })
                .acquire();
        } else {
            auto& by = what.among.empty() ? client : *what.among[i % what.among.size()];
            asio::co_spawn(executor, cycle(by, resource_of(i), until, what, total, done),
                           asio::detached);
        }
    }
    for (std::size_t i = 0; i < what.workers; ++i) co_await done.async_receive(asio::use_awaitable);
}

}  // namespace

double cpu_seconds() {
    std::timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

measured& measured::operator+=(const measured& more) noexcept {
    cycles += more.cycles;
    failures += more.failures;
    seconds += more.seconds;
    cpu_seconds += more.cpu_seconds;
    commands += more.commands;
    writes += more.writes;
    reads += more.reads;
    allocations += more.allocations;
    return *this;
}

measured measure_cycles(setting& on, const workload& what) {
    measured total;
    const auto before = on.client().stats();
    const auto begin = redlock::clock::now();
    const double cpu = cpu_seconds();
    const auto allocated = allocations();
    on.run(all_cycles(on.client(), what, total));
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

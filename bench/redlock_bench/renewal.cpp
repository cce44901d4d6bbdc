// What it takes to keep many leases alive; knows no faults.
// SPDX-License-Identifier: MIT
#include "json_line.hpp"
#include "quantile.hpp"
#include "setting.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;
constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);
using finish_line = asio::experimental::channel<void(boost::system::error_code)>;

// So many are acquired at once; all of them together would only wait in line for each other.
constexpr std::size_t takers = 64;

/// Leases, and how many more acquires were not granted: with very many, renewals and acquires
/// hinder each other.
struct taken {
    std::vector<redlock::lease> leases{};
    std::size_t refused = 0;
};

asio::awaitable<void> take_some(redlock::client& client, std::size_t first, std::size_t count,
                                std::chrono::milliseconds ttl, taken& into, finish_line& done) {
    for (std::size_t i = first; i < count; i += takers) {
        const redlock::acquire_options options{.ttl = ttl, .wait = 5s};
        auto [refused, lease] =
            co_await client.async_acquire("kept:" + std::to_string(i), options, as_tuple);
        if (refused) {
            ++into.refused;
        } else {
            into.leases.push_back(std::move(lease));
        }
    }
    co_await done.async_send({}, asio::use_awaitable);
}

asio::awaitable<void> take(redlock::client& client, std::size_t count,
                           std::chrono::milliseconds ttl, taken& into) {
    const auto executor = co_await asio::this_coro::executor;
    finish_line done(executor, takers);
    for (std::size_t i = 0; i < takers; ++i) {
        asio::co_spawn(executor, take_some(client, i, count, ttl, into, done), asio::detached);
    }
    for (std::size_t i = 0; i < takers; ++i) co_await done.async_receive(asio::use_awaitable);
}

// What malloc has handed out and was not given back, in all arenas.
double heap_bytes() {
    const auto heap = ::mallinfo2();
    return static_cast<double>(heap.uordblks + heap.hblkhd);
}

// How late a timer is at most that rings each millisecond: for so long others wait for the loop.
asio::awaitable<void> keep(std::chrono::milliseconds how_long, double& latest_ms) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    const auto until = redlock::clock::now() + how_long;
    while (redlock::clock::now() < until) {
        const auto due = redlock::clock::now() + 1ms;
        timer.expires_after(1ms);
        co_await timer.async_wait(asio::use_awaitable);
        const std::chrono::duration<double, std::milli> late = redlock::clock::now() - due;
        latest_ms = std::max(latest_ms, late.count());
    }
}

double seconds_since(redlock::clock::time_point then) {
    return std::chrono::duration<double>(redlock::clock::now() - then).count();
}

void measure(setting& on, std::size_t count, std::chrono::milliseconds ttl,
             std::chrono::milliseconds how_long) {
    taken all;
    all.leases.reserve(count);
    const double heap = heap_bytes();
    const auto at_first = on.client().stats();
    const auto asked = redlock::clock::now();
    on.run(take(on.client(), count, ttl, all));
    const double seconds_to_take = seconds_since(asked);
    on.run(rest_for(ttl / 3));  // each is renewed once: what follows is the steady state
    const auto before = on.client().stats();
    const double cpu = cpu_seconds();
    const auto begin = redlock::clock::now();
    double latest_ms = 0;
    on.run(keep(how_long, latest_ms));
    const double cpu_taken = cpu_seconds() - cpu;
    const double seconds = seconds_since(begin);
    const double grown = heap_bytes() - heap;
    const auto after = on.client().stats();
    const auto ended = redlock::clock::now();
    all.leases.clear();
    on.settle();
    const double seconds_to_release = seconds_since(ended);
    const auto renewals = static_cast<double>(after.renewals - before.renewals);
    const auto commands = static_cast<double>(after.commands - before.commands);
    const auto held = static_cast<double>(before.leases);
    const auto nodes = static_cast<double>(on.size());
    json_line("renewal")
        .add("nodes", on.size())
        .add("mode", on.mode())
        .add("leases", count)
        .add("refused", all.refused)
        .add("held", before.leases)
        .add("ttl_ms", ttl.count())
        .add("renewals", after.renewals - before.renewals)
        .add("commands", after.commands - before.commands)
        .add("renewal_failures", after.renewal_failures - at_first.renewal_failures)
        .add("lost", after.lost - at_first.lost)
        .add("renewals_per_command_and_node", renewals * nodes / commands)
        .add("commands_per_node_and_s", commands / nodes / seconds)
        .add("cpu_us_per_renewal", cpu_taken * 1e6 / renewals)
        .add("cpu_us_per_lease_and_s", cpu_taken * 1e6 / held / seconds)
        .add("cpu_share", cpu_taken / seconds)
        .add("heap_bytes_per_lease", grown / held)
        .add("seconds_held", seconds)
        .add("seconds_to_take", seconds_to_take)
        .add("seconds_to_release", seconds_to_release)
        .add("timer_late_at_most_ms", latest_ms)
        .print();
}

// The times of cycles while so many leases are kept, beside those while there are none: before and
// after, since the machine may change meanwhile.
void measure_beside_cycles(setting& on, std::size_t count, std::chrono::milliseconds ttl) {
    constexpr std::size_t workers = 128;
    std::vector<double> alone_us;
    std::vector<double> beside_us;
    const workload alone{.workers = workers, .duration = ttl / 3, .times_us = &alone_us};
    const workload beside{.workers = workers, .duration = ttl, .times_us = &beside_us};
    measure_cycles(on, alone);
    taken all;
    all.leases.reserve(count);
    on.run(take(on.client(), count, ttl, all));
    on.run(rest_for(ttl / 3));  // as above
    const auto before = on.client().stats();
    const measured got = measure_cycles(on, beside);
    const auto after = on.client().stats();
    all.leases.clear();
    on.settle();
    measure_cycles(on, alone);
    const double alone_p99 = quantile(alone_us, 0.99);
    const double beside_p99 = quantile(beside_us, 0.99);
    json_line("renewal_beside_cycles")
        .add("nodes", on.size())
        .add("mode", on.mode())
        .add("workers", workers)
        .add("leases", before.leases)
        .add("renewals", after.renewals - before.renewals)
        .add("renewal_failures", after.renewal_failures - before.renewal_failures)
        .add("lost", after.lost - before.lost)
        .add("cycles", got.cycles)
        .add("failures", got.failures)
        .add("cycle_p50_us", quantile(beside_us, 0.5))
        .add("cycle_p99_us", beside_p99)
        .add("cycle_p99_without_leases_us", alone_p99)
        .add("cycle_p99_over_without_leases", beside_p99 / alone_p99)
        .print();
}

}  // namespace

void measure_renewal(setting& on, const extent& how) {
    for (const std::size_t count : how.leases) measure(on, count, how.lease_ttl, how.lease_ttl);
    const bool is_chosen = on.size() == 3 && on.options().fencing;
    // They take long to be taken; meanwhile the first of them are renewed already.
    if (!is_chosen || how.most_leases == 0) return;
    const auto ttl = how.most_leases_ttl;
    measure(on, how.most_leases, ttl, std::max(ttl, how.most_leases_held));
    measure_beside_cycles(on, how.most_leases, ttl);
}

}  // namespace bench

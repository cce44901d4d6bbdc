// What it takes to wait for many resources at once; knows no contenders and no faults.
// SPDX-License-Identifier: MIT
#include "json_line.hpp"
#include "setting.hpp"
#include "support/direct.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <fstream>
#include <stdexcept>
#include <string>

namespace bench {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

double resident_bytes() {
    std::ifstream file("/proc/self/statm");
    double pages = 0;
    double resident = 0;
    file >> pages >> resident;
    return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double seconds_since(steady::time_point then) {
    return std::chrono::duration<double>(steady::now() - then).count();
}

std::string name_of(std::size_t i) { return "waiting:" + std::to_string(i); }

/// Runs on every node, and publishes nothing.
void on_every_node(setting& on, std::size_t count, const char* script) {
    for (std::size_t node = 0; node < on.size(); ++node) {
        redlock::testing::direct at(on.server(node).port(), {}, 1min);
        const auto said = at.command(
            {"EVAL", script, "0", std::to_string(count), on.options().key_prefix + "waiting:"});
        if (said.type == redlock::testing::reply::kind::error) throw std::runtime_error(said.text);
    }
}

// For a value of our form: beside a foreign one waiters look again every few ms.
constexpr const char* take_all =
    "for i = 0, ARGV[1] - 1 do "
    "redis.call('SET', ARGV[2] .. i, 'ABCDEFGHIJKLMNOPQRSTUV@elsewhere', 'PX', 600000) end";
constexpr const char* free_all = "for i = 0, ARGV[1] - 1 do redis.call('DEL', ARGV[2] .. i) end";

struct crowd {
    std::deque<asio::cancellation_signal> signals{};
    std::size_t over = 0;
    std::size_t granted = 0;

    void begin(redlock::client& client, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            client.async_acquire(
                name_of(i), redlock::acquire_options{.wait = 10min},
                asio::bind_cancellation_slot(signals.emplace_back().slot(),
                                             [this](redlock::error_code, redlock::lease held) {
                                                 ++over;
                                                 if (held) ++granted;  // and is given back here
                                             }));
        }
    }
};

/// Until the client sends no more than what keeps its waiters known. How long that took.
asio::awaitable<double> until_calm(setting& on, steady::time_point began) {
    constexpr std::uint64_t most_questions = 100;  // in a second, to a node
    for (double waited = 0; waited < 60;) {
        const auto before = on.client().stats().commands;
        co_await rest_for(1s);
        if (on.client().stats().commands - before <= most_questions * on.size()) co_return waited;
        waited = seconds_since(began);
    }
    co_return -1;
}

asio::awaitable<void> wait_for(setting& on, std::size_t count, std::chrono::milliseconds each) {
    crowd all;
    const double memory = resident_bytes();
    const auto before = on.client().stats();
    auto began = steady::now();
    all.begin(on.client(), count);
    const double calm_after = co_await until_calm(on, began);
    const auto asked = on.client().stats();
    const double grown = resident_bytes() - memory;

    const double cpu = cpu_seconds();
    began = steady::now();
    co_await rest_for(each);
    const double waited = seconds_since(began);
    const double cpu_taken = cpu_seconds() - cpu;
    const auto after = on.client().stats();

    on_every_node(on, count, free_all);
    began = steady::now();
    while (all.over < count && seconds_since(began) < 60) co_await rest_for(10ms);
    const double all_granted = seconds_since(began);
    const std::size_t granted = all.granted;

    on_every_node(on, count, take_all);
    const std::size_t over = all.over;
    all.begin(on.client(), count);
    co_await until_calm(on, steady::now());
    began = steady::now();
    for (auto& s : all.signals) s.emit(asio::cancellation_type::terminal);
    while (all.over < over + count) co_await rest_for(1ms);

    const auto waiters = static_cast<double>(count);
    const double node_seconds = waited * static_cast<double>(on.size());
    json_line("waiting")
        .add("nodes", on.size())
        .add("mode", on.mode())
        .add("resources", count)
        .add("bytes_per_waiter", grown / waiters)
        .add("calm_after_s", calm_after)
        .add("retries", asked.retries - before.retries)
        .add("commands_per_waiter_and_node_until_calm",
             static_cast<double>(asked.commands - before.commands) / waiters /
                 static_cast<double>(on.size()))
        .add("commands_per_node_and_s",
             static_cast<double>(after.commands - asked.commands) / node_seconds)
        .add("cpu_share", cpu_taken / waited)
        .add("granted", granted)
        .add("all_granted_after_s", all_granted)
        .add("all_cancelled_after_s", seconds_since(began))
        .print();
}

}  // namespace

void measure_waiting(setting& on, const extent& how) {
    for (const std::size_t count : how.waiters) {
        on_every_node(on, count, take_all);
        on.run(wait_for(on, count, how.each));
        on_every_node(on, count, free_all);
        on.settle();
    }
}

}  // namespace bench

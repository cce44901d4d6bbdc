// What it takes to watch resources, and how soon a change is seen; knows no faults.
// SPDX-License-Identifier: MIT
#include "json_line.hpp"
#include "quantile.hpp"
#include "setting.hpp"
#include "support/direct.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
using redlock::testing::direct;

double ms_since(steady::time_point then) {
    return std::chrono::duration<double, std::milli>(steady::now() - then).count();
}

std::string watched_name(std::size_t resource) { return "watching:" + std::to_string(resource); }

/// Watch one resource each, again after each change.
class observers {
public:
    observers(redlock::client& by, std::size_t resources, std::size_t watchers)
        : client_(&by), resources_(resources), last_(watchers) {
        for (std::size_t i = 0; i < watchers; ++i) signals_.emplace_back();
    }
    void begin() {
        for (std::size_t i = 0; i < last_.size(); ++i) begin(i);
    }
    void end() {
        is_over_ = true;
        for (auto& s : signals_) s.emit(asio::cancellation_type::terminal);
    }
    void expect_change() {
        delays.clear();
        changed_ = steady::now();
    }
    std::vector<double> delays{};  ///< In ms, since the last expected change.

private:
    void begin(std::size_t i) {
        client_->async_watch(
            watched_name(i % resources_), last_[i],
            asio::bind_cancellation_slot(
                signals_[i].slot(),
                [this, i](redlock::error_code ec, redlock::resource_state now) {
                    delays.push_back(ms_since(changed_));
                    last_[i] = std::move(now);
                    if (!ec && !is_over_) begin(i);
                }));
    }

    redlock::client* client_;
    std::size_t resources_;
    std::deque<asio::cancellation_signal> signals_{};
    std::vector<redlock::resource_state> last_;
    steady::time_point changed_{};
    bool is_over_ = false;
};

/// Another program's locks, on every node.
class other_program {
public:
    explicit other_program(setting& on) : prefix_(on.options().key_prefix) {
        for (std::size_t i = 0; i < on.size(); ++i) nodes_.emplace_back(on.server(i).port());
    }
    void take(std::size_t resource) {
        const std::string value = "ABCDEFGHIJKLMNOPQRSTUV@" + std::to_string(++takes_);
        for (direct& node : nodes_) {
            node.command({"SET", prefix_ + watched_name(resource), value, "PX", "600000"});
        }
    }
    void free(std::size_t count) {
        for (direct& node : nodes_) {
            for (std::size_t i = 0; i < count; ++i) node.del(prefix_ + watched_name(i));
        }
    }
    double total(const std::string& field) {
        double sum = 0;
        for (direct& node : nodes_) sum += std::stod(node.info(field));
        return sum / static_cast<double>(nodes_.size());
    }

private:
    std::string prefix_;
    std::deque<direct> nodes_{};
    std::uint64_t takes_ = 0;
};

asio::awaitable<void> until_seen(observers& all, std::size_t watchers) {
    const auto began = steady::now();
    while (all.delays.size() < watchers && ms_since(began) < 10'000) co_await rest_for(1ms);
}

// Inlined, g++ 12 warns of the frame's operator delete, which is Asio's.
[[gnu::noinline]] asio::awaitable<void> watch(setting& on, std::size_t resources,
                                              std::size_t watchers, const extent& how) {
    other_program elsewhere(on);
    observers all(on.client(), resources, watchers);
    all.expect_change();
    all.begin();
    co_await until_seen(all, watchers);
    const double all_known = quantile(all.delays, 1);
    co_await rest_for(500ms);  // each has begun again

    const auto sent = on.client().stats().commands;
    const double cpu = cpu_seconds();
    const double busy = elsewhere.total("used_cpu_user") + elsewhere.total("used_cpu_sys");
    const double in = elsewhere.total("total_net_input_bytes");
    double out = elsewhere.total("total_net_output_bytes");
    const double own_reply = elsewhere.total("total_net_output_bytes") - out;
    out += 2 * own_reply;
    const auto began = steady::now();
    co_await rest_for(how.each);
    const double seconds = ms_since(began) / 1e3;
    const double client_share = (cpu_seconds() - cpu) / seconds;
    const auto commands = static_cast<double>(on.client().stats().commands - sent);
    const double out_rate = (elsewhere.total("total_net_output_bytes") - out) / seconds;
    const double in_rate = (elsewhere.total("total_net_input_bytes") - in) / seconds;
    const double node_share =
        (elsewhere.total("used_cpu_user") + elsewhere.total("used_cpu_sys") - busy) / seconds;

    // One resource changes at a time, at any moment between two looks.
    std::mt19937 random(1);
    std::vector<double> delays;
    std::size_t seen = 0;
    for (std::size_t i = 0; i < how.watched_changes; ++i) {
        co_await rest_for(std::chrono::microseconds(150'000 + random() % 100'000));
        elsewhere.take(random() % resources);
        all.expect_change();
        const std::size_t expected = watchers / resources;
        co_await until_seen(all, expected);
        seen += all.delays.size() == expected ? 1U : 0U;
        delays.insert(delays.end(), all.delays.begin(), all.delays.end());
    }
    json_line("watching")
        .add("nodes", on.size())
        .add("mode", on.mode())
        .add("resources", resources)
        .add("watchers", watchers)
        .add("all_known_after_ms", all_known)
        .add("commands_per_node_and_s", commands / seconds / static_cast<double>(on.size()))
        .add("bytes_to_node_per_s", in_rate)
        .add("bytes_from_node_per_s", out_rate)
        .add("cpu_share_of_node", node_share)
        .add("cpu_share", client_share)
        .add("changes", how.watched_changes)
        .add("changes_seen", seen)
        .add("delay_p50_ms", quantile(delays, 0.5))
        .add("delay_p99_ms", quantile(delays, 0.99))
        .print();
    all.end();
    co_await rest_for(50ms);
    elsewhere.free(resources);
}

}  // namespace

void measure_watching(setting& on, const extent& how) {
    for (const auto& [resources, watchers] : how.watched) {
        on.run(watch(on, resources, watchers, how));
        on.settle();
    }
}

}  // namespace bench

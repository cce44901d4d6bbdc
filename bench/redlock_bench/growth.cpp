// How cost grows with nodes, workers, clients and ttl_max; knows no faults.
// SPDX-License-Identifier: MIT
#include "as_tuple.hpp"
#include "json_line.hpp"
#include "setting.hpp"

#include "support/direct.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <deque>
#include <string>
#include <utility>

namespace bench {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;
using finish_line = asio::experimental::channel<void(boost::system::error_code)>;

/// What the servers of a setting say of themselves.
class servers {
public:
    explicit servers(setting& on) {
        for (std::size_t i = 0; i < on.size(); ++i) nodes_.emplace_back(on.server(i).port());
    }
    /// The mean of a node.
    double cpu_seconds() { return mean("used_cpu_user") + mean("used_cpu_sys"); }
    double bytes() { return mean("used_memory"); }
    double keys() {
        double sum = 0;
        for (auto& node : nodes_) sum += static_cast<double>(node.command({"DBSIZE"}).number);
        return sum / static_cast<double>(nodes_.size());
    }

private:
    double mean(const std::string& field) {
        double sum = 0;
        for (auto& node : nodes_) sum += std::stod(node.info(field));
        return sum / static_cast<double>(nodes_.size());
    }

    std::deque<redlock::testing::direct> nodes_{};
};

struct cost {
    measured client{};
    double node_us_per_cycle = 0;
};

cost measure(setting& on, const extent& how, const workload& what) {
    workload warm_up = what;
    warm_up.duration = std::max(how.each / 8, 20ms);
    measure_cycles(on, warm_up);
    servers nodes(on);
    const double busy = nodes.cpu_seconds();
    cost got{.client = measure_cycles(on, what)};
    got.node_us_per_cycle =
        (nodes.cpu_seconds() - busy) * 1e6 / static_cast<double>(got.client.cycles);
    on.settle();
    return got;
}

json_line line_of(const char* what, setting& on, const workload& load, const cost& got) {
    json_line line(what);
    line.add("nodes", on.size())
        .add("mode", on.mode())
        .add("workers", load.workers)
        .add("clients", std::max<std::size_t>(load.among.size(), 1))
        .add("ttl_max_ms", on.options().ttl_max.count())
        .add("cycles", got.client.cycles)
        .add("failures", got.client.failures)
        .add("cycles_per_s", got.client.rate())
        .add("cpu_us_per_cycle", got.client.cpu_us_per_cycle())
        .add("node_cpu_us_per_cycle", got.node_us_per_cycle);
    return line;
}

void grow_by_nodes_and_workers(const extent& how) {
    for (const std::size_t nodes : how.growing_nodes) {
        setting on(nodes, true);
        for (const std::size_t workers : how.growing_workers) {
            const workload load{.workers = workers, .duration = how.each};
            const cost got = measure(on, how, load);
            line_of("growth_workers", on, load, got)
                .add("commands_per_cycle", got.client.per_cycle(got.client.commands))
                .add("writes_per_cycle", got.client.per_cycle(got.client.writes))
                .print();
        }
    }
}

// The same work, shared out among more and more clients.
void grow_by_clients(const extent& how) {
    setting on(3, true);
    for (const std::size_t count : how.growing_clients) {
        std::deque<redlock::client> clients;
        workload load{.workers = 128, .duration = how.each};
        for (std::size_t i = 0; i < count; ++i) {
            load.among.push_back(&clients.emplace_back(on.executor(), on.options()));
            on.run(until_all_answer(clients.back()));
        }
        line_of("growth_clients", on, load, measure(on, how, load)).print();
    }
}

asio::awaitable<void> lock_each_once(redlock::client& client, std::size_t first,
                                     std::size_t count, std::size_t step, finish_line& done) {
    for (std::size_t i = first; i < count; i += step) {
        auto [refused, lease] =
            co_await client.async_acquire("once:" + std::to_string(i), as_tuple);
        if (!refused) co_await client.async_release(std::move(lease), as_tuple);
    }
    co_await done.async_send({}, asio::use_awaitable);
}

asio::awaitable<void> lock_all_once(redlock::client& client, std::size_t count) {
    constexpr std::size_t workers = 64;
    const auto executor = co_await asio::this_coro::executor;
    finish_line done(executor, workers);
    for (std::size_t i = 0; i < workers; ++i) {
        asio::co_spawn(executor, lock_each_once(client, i, count, workers, done), asio::detached);
    }
    for (std::size_t i = 0; i < workers; ++i) co_await done.async_receive(asio::use_awaitable);
}

void grow_by_ttl_max(const extent& how) {
    for (const std::chrono::milliseconds ttl_max : {60'000ms, 86'400'000ms}) {
        setting on(3, true, transport::tcp, ttl_max);
        const workload load{.workers = 128, .duration = how.each};
        const cost got = measure(on, how, load);
        json_line line = line_of("growth_ttl_max", on, load, got);
        if (how.names > 0) {
            on.run(rest_for(25s));  // what the cycles left is gone
            servers nodes(on);
            const auto names = static_cast<double>(how.names);
            const double bytes = nodes.bytes();
            const double keys = nodes.keys();
            on.run(lock_all_once(on.client(), how.names));
            const double bytes_then = nodes.bytes();
            on.run(rest_for(22s));  // 20 s, and the server's own search for what has expired
            line.add("names", how.names)
                .add("bytes_per_name", (bytes_then - bytes) / names)
                .add("bytes_per_name_20_s_later", (nodes.bytes() - bytes) / names)
                .add("keys_per_name_20_s_later", (nodes.keys() - keys) / names);
        }
        line.print();
    }
}

}  // namespace

void measure_growth(const extent& how) {
    grow_by_nodes_and_workers(how);
    grow_by_clients(how);
    grow_by_ttl_max(how);
}

}  // namespace bench

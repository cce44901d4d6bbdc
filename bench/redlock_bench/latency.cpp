// The time one acquire takes, beside the floor's on the same nodes, in alternating blocks.
// SPDX-License-Identifier: MIT
#include "floor.hpp"
#include "json_line.hpp"
#include "quantile.hpp"
#include "setting.hpp"

#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace asio = boost::asio;

namespace {

using microseconds = std::chrono::duration<double, std::micro>;

// In a process of its own the client is named so: host, colon, number. The floor's values are as
// long, so that the same bytes travel.
const std::string floor_value = "0123456789abcdefABCDEF@" + redlock::default_client_name();
const std::string key = "bench:latency";

asio::awaitable<void> library_block(redlock::client& client, std::size_t cycles,
                                    std::vector<double>& times_us) {
    for (std::size_t i = 0; i < cycles; ++i) {
        const auto begin = redlock::clock::now();
        auto lease = co_await client.async_acquire(key, asio::use_awaitable);
        times_us.push_back(microseconds(redlock::clock::now() - begin).count());
        co_await client.async_release(std::move(lease), asio::use_awaitable);
    }
    // Reads what is still due, so that nothing times out while the floor has its turn.
    co_await client.async_inspect(key, asio::use_awaitable);
}

void floor_block(floor& on, floor::wait_for whom, std::size_t cycles,
                 std::vector<double>& times_us) {
    for (std::size_t i = 0; i < cycles; ++i) {
        const auto begin = redlock::clock::now();
        on.acquire(key, floor_value, whom);
        times_us.push_back(microseconds(redlock::clock::now() - begin).count());
        on.release(key, whom);
    }
    on.drain();
}

// All three were measured in each block: their ratios are not moved by what moves the machine.
struct block {
    std::array<std::vector<double>, 3> times_us;  // library, all, quorum
};

double ratio(std::vector<block>& blocks, std::size_t floor_kind, double q) {
    std::vector<double> ratios;
    for (auto& b : blocks) {
        ratios.push_back(quantile(b.times_us[0], q) / quantile(b.times_us[floor_kind], q));
    }
    return quantile(ratios, 0.5);
}

}  // namespace

void measure_latency(setting& on, const extent& how) {
    std::vector<std::uint16_t> ports;
    for (const auto& node : on.options().nodes) ports.push_back(node.port);
    floor bare(ports);
    std::vector<block> blocks(how.latency_blocks);
    std::vector<double> warm_up;
    on.run(library_block(on.client(), how.cycles_per_block, warm_up));
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        for (std::size_t turn = 0; turn < 3; ++turn) {
            const std::size_t kind = (i + turn) % 3;
            auto& times_us = blocks[i].times_us[kind];
            times_us.reserve(how.cycles_per_block);
            if (kind == 0) {
                on.run(library_block(on.client(), how.cycles_per_block, times_us));
            } else {
                const auto whom = kind == 1 ? floor::wait_for::all : floor::wait_for::quorum;
                floor_block(bare, whom, how.cycles_per_block, times_us);
            }
        }
    }
    std::array<std::vector<double>, 3> all;
    for (const auto& b : blocks) {
        for (std::size_t kind = 0; kind < 3; ++kind) {
            all[kind].insert(all[kind].end(), b.times_us[kind].begin(), b.times_us[kind].end());
        }
    }
    json_line("latency")
        .add("nodes", on.size())
        .add("mode", on.mode())
        .add("acquires", all[0].size())
        .add("p50_us", quantile(all[0], 0.5))
        .add("p99_us", quantile(all[0], 0.99))
        .add("floor_all_p50_us", quantile(all[1], 0.5))
        .add("floor_all_p99_us", quantile(all[1], 0.99))
        .add("floor_quorum_p50_us", quantile(all[2], 0.5))
        .add("floor_quorum_p99_us", quantile(all[2], 0.99))
        .add("p50_over_floor_all", ratio(blocks, 1, 0.5))
        .add("p50_over_floor_quorum", ratio(blocks, 2, 0.5))
        .add("p99_over_floor_all", quantile(all[0], 0.99) / quantile(all[1], 0.99))
        .print();
}

}  // namespace bench

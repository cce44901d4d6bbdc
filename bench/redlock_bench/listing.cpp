// What it takes to list what is held among many keys; knows no faults.
// SPDX-License-Identifier: MIT
#include "json_line.hpp"
#include "setting.hpp"
#include "support/direct.hpp"

#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace bench {

namespace asio = boost::asio;

namespace {

using steady = std::chrono::steady_clock;
using redlock::testing::direct;

double seconds_since(steady::time_point then) {
    return std::chrono::duration<double>(steady::now() - then).count();
}

/// As they are after so many resources were locked, of which one in 1,000 still is.
void fill(setting& on, std::size_t node, std::size_t fences) {
    direct to(on.server(node).port());
    constexpr std::size_t at_once = 10'000;
    for (std::size_t first = 0; first < fences; first += at_once) {
        const std::size_t last = std::min(first + at_once, fences) - 1;
        const auto done = to.command(
            {"EVAL",
             "for i = ARGV[1], ARGV[2] do\n"
             "  local key = ARGV[3] .. 'listing:' .. string.format('%.0f', i)\n"
             "  redis.call('SET', ARGV[3] .. '{' .. key .. '}:fence', 1700000000000000 + i, "
             "'PX', 600000)\n"
             "  if i % 1000 == 0 then\n"
             "    redis.call('SET', key, 'ABCDEFGHIJKLMNOPQRSTUV@bench', 'PX', 600000)\n"
             "  end\n"
             "end\n",
             "0", std::to_string(first), std::to_string(last), on.options().key_prefix});
        if (done.type == redlock::testing::reply::kind::error) throw std::runtime_error(done.text);
    }
}

/// Reads the names of all strings there, and does nothing with them.
void scan(setting& on, std::size_t node) {
    direct from(on.server(node).port());
    std::string cursor = "0";
    do {
        const auto page = from.command({"SCAN", cursor, "COUNT", "300", "TYPE", "string"});
        cursor = page.items.at(0).text;
    } while (cursor != "0");
}

double scan_quorum(setting& on) {
    const auto began = steady::now();
    std::vector<std::thread> all;
    for (std::size_t i = 0; i < on.size() / 2 + 1; ++i) {
        all.emplace_back([&on, i] { scan(on, i); });
    }
    for (auto& each : all) each.join();
    return seconds_since(began);
}

// "cmdstat_scan:calls=1999,usec=842374,..."
double scan_us_per_call(direct& node) {
    const std::string all = node.command({"INFO", "commandstats"}).text;
    const std::string name = "cmdstat_scan:calls=";
    const auto at = all.find(name);
    if (at == all.npos) return 0;
    const double calls = std::stod(all.substr(at + name.size()));
    return std::stod(all.substr(all.find("usec=", at) + 5)) / calls;
}

asio::awaitable<void> list(setting& on, const extent& how) {
    for (std::size_t i = 0; i < on.size(); ++i) fill(on, i, how.listed_keys);
    for (std::size_t round = 0; round < how.listed_rounds; ++round) {
        const double floor_s = scan_quorum(on);
        direct first(on.server(0).port());
        first.reset_calls();
        first.config_set("slowlog-log-slower-than", "1000");
        first.command({"SLOWLOG", "RESET"});
        const double cpu = cpu_seconds();
        const auto began = steady::now();
        const auto names = co_await on.client().async_list("", asio::use_awaitable);
        const double seconds = seconds_since(began);
        json_line("listing")
            .add("nodes", on.size())
            .add("mode", on.mode())
            .add("keys_per_node", how.listed_keys)
            .add("held", names.size())
            .add("seconds", seconds)
            .add("bare_scan_seconds", floor_s)
            .add("over_bare_scan", seconds / floor_s)
            .add("cpu_seconds", cpu_seconds() - cpu)
            .add("step_us", scan_us_per_call(first))
            .add("steps_over_1_ms",
                 static_cast<std::size_t>(first.command({"SLOWLOG", "LEN"}).number))
            .print();
    }
}

}  // namespace

void measure_listing(setting& on, const extent& how) { on.run(list(on, how)); }

}  // namespace bench

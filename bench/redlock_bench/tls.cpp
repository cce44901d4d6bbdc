// Rates, acquires and CPU over TLS beside the same without it, in alternating blocks; knows no
// faults.
// SPDX-License-Identifier: MIT
#include "json_line.hpp"
#include "quantile.hpp"
#include "setting.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace bench {

namespace {

/// One of the two that are compared: its blocks, one after the other, and all of them together.
struct side {
    setting* on;
    measured sum{};
    std::vector<double> acquires_us{};
    std::vector<double> acquire_p50s_us{};  // one for each block, as below
    std::vector<double> rates{};
    std::vector<double> cpu_us{};  // per cycle

    void measure_block(std::size_t workers, std::chrono::milliseconds duration) {
        std::vector<double> times_us;
        const measured got = measure_cycles(
            *on, {.workers = workers, .duration = duration, .acquire_times_us = &times_us});
        on->settle();
        sum += got;
        acquires_us.insert(acquires_us.end(), times_us.begin(), times_us.end());
        acquire_p50s_us.push_back(quantile(times_us, 0.5));
        rates.push_back(got.rate());
        cpu_us.push_back(got.cpu_us_per_cycle());
    }
};

// Empty: TLS can be measured.
std::string why_left_out(setting& on) {
    redlock::client_options options;
    options.nodes.emplace_back().tls.emplace();
    for (const auto& issue : redlock::validate(options)) {
        if (issue.where == "/nodes/0/tls") return issue.message;
    }
    const redlock::testing::redis_server& server = on.server(0);
    if (!is_built_with_tls(redlock::testing::direct(server.port()))) {
        return "this redis-server was built without TLS";
    }
    if (!redlock::testing::certificates::can_be_made()) return "there is no openssl command";
    return {};
}

void print(side& tls, side& without, std::size_t workers) {
    json_line("tls")
        .add("nodes", tls.on->size())
        .add("mode", tls.on->mode())
        .add("transport", tls.on->transport_name())
        .add("workers", workers)
        .add("blocks", tls.rates.size())
        .add("cycles", tls.sum.cycles)
        .add("failures", tls.sum.failures)
        .add("acquire_p50_us", quantile(tls.acquires_us, 0.5))
        .add("cycles_per_s", tls.sum.rate())
        .add("cpu_us_per_cycle", tls.sum.cpu_us_per_cycle())
        .add("cycles_without_tls", without.sum.cycles)
        .add("failures_without_tls", without.sum.failures)
        .add("acquire_p50_us_without_tls", quantile(without.acquires_us, 0.5))
        .add("cycles_per_s_without_tls", without.sum.rate())
        .add("cpu_us_per_cycle_without_tls", without.sum.cpu_us_per_cycle())
        .add("acquire_p50_over_without_tls",
             median_ratio(tls.acquire_p50s_us, without.acquire_p50s_us))
        .add("rate_over_without_tls", median_ratio(tls.rates, without.rates))
        .add("cpu_over_without_tls", median_ratio(tls.cpu_us, without.cpu_us))
        .print();
}

void compare(setting& tls, setting& without, const extent& how, std::size_t workers) {
    // As for other rates: the buffers grow to their size before it counts.
    const auto warm_up = std::max(how.each / 8, std::chrono::milliseconds(20));
    for (setting* on : {&tls, &without}) {
        measure_cycles(*on, {.workers = workers, .duration = warm_up});
        on->settle();
    }
    // One worker waits for single answers: what comes of that varies as latency does.
    const std::size_t blocks = workers == 1 ? how.latency_blocks : how.rate_blocks;
    std::array sides{side{&tls}, side{&without}};
    for (std::size_t i = 0; i < blocks; ++i) {
        for (std::size_t turn = 0; turn < sides.size(); ++turn) {
            sides[(i + turn) % sides.size()].measure_block(
                workers, how.each / static_cast<long>(how.rate_blocks));
        }
    }
    print(sides[0], sides[1], workers);
}

}  // namespace

void measure_tls(setting& on, const extent& how) {
    if (const std::string reason = why_left_out(on); !reason.empty()) {
        json_line("tls_absent").add("reason", reason).print();
        return;
    }
    setting tls(on.size(), on.options().fencing, transport::tls);
    for (const std::size_t workers : how.workers_by_tls) compare(tls, on, how, workers);
}

}  // namespace bench

// What one node costs that is hung, dead or pausing: rates and tails under the fault over healthy
// ones of the same run.
// SPDX-License-Identifier: MIT
#include "json_line.hpp"
#include "quantile.hpp"
#include "setting.hpp"

#include <signal.h>

#include <stop_token>
#include <string_view>
#include <thread>

namespace bench {

namespace {

using redlock::testing::redis_server;
using namespace std::chrono_literals;

// A fifth of the time.
constexpr auto pause = 20ms;
constexpr auto between_pauses = 80ms;

void pause_by_turns(const std::stop_token& enough, pid_t whom) {
    while (!enough.stop_requested()) {
        ::kill(whom, SIGSTOP);
        std::this_thread::sleep_for(pause);
        ::kill(whom, SIGCONT);
        std::this_thread::sleep_for(between_pauses);
    }
}

struct fault {
    std::string_view name;
    void (*begin)(redis_server&, std::jthread& helper);
    void (*end)(redis_server&, std::jthread& helper);
};

constexpr fault faults[] = {
    {"hung", [](redis_server& server, std::jthread&) { server.stop(); },
     [](redis_server& server, std::jthread&) { server.cont(); }},
    {"dead", [](redis_server& server, std::jthread&) { server.kill(); },
     [](redis_server& server, std::jthread&) { server.restart(); }},
    {"pausing",
     [](redis_server& server, std::jthread& helper) {
         helper = std::jthread(pause_by_turns, server.pid());
     },
     [](redis_server&, std::jthread& helper) { helper = {}; }},
};

/// Rounds of cycles, and how long each cycle took.
struct timed {
    measured sum{};
    std::vector<double> times_us{};

    void add(setting& on, std::size_t workers, std::chrono::milliseconds duration) {
        sum +=
            measure_cycles(on, {.workers = workers, .duration = duration, .times_us = &times_us});
    }
};

void measure_fault(setting& on, const extent& how, const fault& what, std::size_t workers) {
    auto& victim = on.server(on.size() / 2);
    std::jthread helper;
    timed healthy;
    timed faulty;
    measure_cycles(on, {.workers = workers, .duration = how.each / 8});
    for (std::size_t round = 0; round < how.fault_rounds; ++round) {
        healthy.add(on, workers, how.each);
        on.settle();
        // Counted from the first instant on: that the fault has to be noticed belongs to its cost.
        what.begin(victim, helper);
        faulty.add(on, workers, how.each);
        what.end(victim, helper);
        on.settle();
    }
    const double healthy_p99_us = quantile(healthy.times_us, 0.99);
    const double p99_us = quantile(faulty.times_us, 0.99);
    json_line("fault")
        .add("nodes", on.size())
        .add("mode", on.mode())
        .add("fault", what.name)
        .add("workers", workers)
        .add("healthy_cycles_per_s", healthy.sum.rate())
        .add("cycles_per_s", faulty.sum.rate())
        .add("rate_over_healthy", faulty.sum.rate() / healthy.sum.rate())
        .add("healthy_cycle_p50_us", quantile(healthy.times_us, 0.5))
        .add("cycle_p50_us", quantile(faulty.times_us, 0.5))
        .add("healthy_cycle_p99_us", healthy_p99_us)
        .add("cycle_p99_us", p99_us)
        .add("p99_over_healthy", p99_us / healthy_p99_us)
        .add("healthy_failures", healthy.sum.failures)
        .add("failures", faulty.sum.failures)
        .print();
}

}  // namespace

void measure_faults(setting& on, const extent& how) {
    for (const fault& what : faults) {
        for (const std::size_t workers : how.workers_under_faults) {
            measure_fault(on, how, what, workers);
        }
    }
}

}  // namespace bench

// What one hung or one dead node costs: rates under the fault over healthy rates of the same run.
// SPDX-License-Identifier: MIT
#include "json_line.hpp"
#include "setting.hpp"

#include <string_view>

namespace bench {

namespace {

struct fault {
    std::string_view name;
    void (redlock::testing::redis_server::*begin)();
    void (*end)(redlock::testing::redis_server&);
};

constexpr fault faults[] = {
    {"hung", &redlock::testing::redis_server::stop,
     [](redlock::testing::redis_server& server) { server.cont(); }},
    {"dead", &redlock::testing::redis_server::kill,
     [](redlock::testing::redis_server& server) { server.restart(); }},
};

void add_up(measured& sum, const measured& one) {
    sum.cycles += one.cycles;
    sum.failures += one.failures;
    sum.seconds += one.seconds;
}

void measure_fault(setting& on, const extent& how, const fault& what, std::size_t workers) {
    auto& victim = on.server(on.size() / 2);
    measured healthy;
    measured faulty;
    measure_cycles(on, workers, how.each / 8);
    for (std::size_t round = 0; round < how.fault_rounds; ++round) {
        add_up(healthy, measure_cycles(on, workers, how.each));
        on.settle();
        // Counted from the first instant on: that the fault has to be noticed belongs to its cost.
        (victim.*what.begin)();
        add_up(faulty, measure_cycles(on, workers, how.each));
        what.end(victim);
        on.settle();
    }
    json_line("fault")
        .add("nodes", on.size())
        .add("mode", on.mode())
        .add("fault", what.name)
        .add("workers", workers)
        .add("healthy_cycles_per_s", healthy.rate())
        .add("cycles_per_s", faulty.rate())
        .add("rate_over_healthy", faulty.rate() / healthy.rate())
        .add("healthy_failures", healthy.failures)
        .add("failures", faulty.failures)
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

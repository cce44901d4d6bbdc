// Rates and counts per cycle on healthy nodes, beside the ceiling's, in alternating blocks; knows
// no faults. SPDX-License-Identifier: MIT
#include "ceiling.hpp"
#include "json_line.hpp"
#include "quantile.hpp"
#include "setting.hpp"

#include <algorithm>
#include <array>

namespace bench {

namespace {

// In this order: coroutines, callbacks, the ceiling.
constexpr std::size_t kinds = 3;
constexpr std::size_t of_callbacks = 1;
constexpr std::size_t of_ceiling = 2;

struct rates {
    std::array<measured, kinds> sums{};
    std::array<std::vector<double>, 2> over_ceiling{};  // one ratio for each block
};

measured measure(setting& on, ceiling& bare, std::size_t kind, std::size_t workers,
                 std::chrono::milliseconds duration) {
    if (kind == of_ceiling) return bare.run(duration);
    const auto by = kind == of_callbacks ? style::callbacks : style::coroutines;
    const measured got = measure_cycles(on, {.workers = workers, .duration = duration, .by = by});
    on.settle();
    return got;
}

rates measure_blocks(setting& on, const extent& how, std::size_t workers) {
    ceiling bare(on, workers);
    // The buffers grow to their size, and the allocator's caches fill, before it counts.
    const auto warm_up = std::max(how.each / 8, std::chrono::milliseconds(20));
    for (std::size_t kind = 0; kind < kinds; ++kind) measure(on, bare, kind, workers, warm_up);
    rates got;
    for (std::size_t i = 0; i < how.rate_blocks; ++i) {
        std::array<double, kinds> in_block{};
        for (std::size_t turn = 0; turn < kinds; ++turn) {
            const std::size_t kind = (i + turn) % kinds;
            const auto one =
                measure(on, bare, kind, workers, how.each / static_cast<long>(how.rate_blocks));
            in_block[kind] = one.rate();
            got.sums[kind] += one;
        }
        for (std::size_t kind = 0; kind < of_ceiling; ++kind) {
            got.over_ceiling[kind].push_back(in_block[kind] / in_block[of_ceiling]);
        }
    }
    return got;
}

void print(const setting& on, std::size_t workers, std::size_t kind, rates& all) {
    const measured& got = all.sums[kind];
    const measured& raw = all.sums[of_ceiling];
    // Its handlers have memory of their own: what is left is the library's, and Asio's for it.
    const measured& by_callbacks = all.sums[of_callbacks];
    json_line("throughput")
        .add("nodes", on.size())
        .add("mode", on.mode())
        .add("transport", on.transport_name())
        .add("by", kind == of_callbacks ? "callbacks" : "coroutines")
        .add("workers", workers)
        .add("cycles", got.cycles)
        .add("failures", got.failures)
        .add("commands", got.commands)
        .add("cycles_per_s", got.rate())
        .add("cpu_us_per_cycle", got.cpu_us_per_cycle())
        .add("raw_cycles_per_s", raw.rate())
        .add("raw_cpu_us_per_cycle", raw.cpu_us_per_cycle())
        .add("rate_over_raw", quantile(all.over_ceiling[kind], 0.5))
        .add("commands_per_cycle", got.per_cycle(got.commands))
        .add("writes_per_cycle", got.per_cycle(got.writes))
        .add("reads_per_cycle", got.per_cycle(got.reads))
        .add("allocations_per_cycle", got.per_cycle(got.allocations))
        .add("allocations_in_library_per_cycle", by_callbacks.per_cycle(by_callbacks.allocations))
        .add("raw_commands_per_cycle", raw.per_cycle(raw.commands))
        .add("raw_writes_per_cycle", raw.per_cycle(raw.writes))
        .add("raw_reads_per_cycle", raw.per_cycle(raw.reads))
        .print();
}

}  // namespace

void measure_throughput(setting& on, const extent& how, const std::vector<std::size_t>& workers) {
    for (const std::size_t count : workers) {
        rates got = measure_blocks(on, how, count);
        for (std::size_t kind = 0; kind < of_ceiling; ++kind) print(on, count, kind, got);
    }
}

}  // namespace bench

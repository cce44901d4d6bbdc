// Rates and counts per cycle on healthy nodes; knows no faults.
// SPDX-License-Identifier: MIT
#include "json_line.hpp"
#include "setting.hpp"

#include <algorithm>

namespace bench {

void measure_throughput(setting& on, const extent& how) {
    for (const std::size_t workers : how.workers) {
        // The buffers grow to their size, and the allocator's caches fill, before it counts.
        measure_cycles(on, workers, std::max(how.each / 8, std::chrono::milliseconds(20)));
        on.settle();
        const auto got = measure_cycles(on, workers, how.each);
        on.settle();
        json_line("throughput")
            .add("nodes", on.size())
            .add("mode", on.mode())
            .add("workers", workers)
            .add("cycles", got.cycles)
            .add("failures", got.failures)
            .add("commands", got.commands)
            .add("cycles_per_s", got.rate())
            .add("cpu_us_per_cycle", got.cpu_seconds * 1e6 / static_cast<double>(got.cycles))
            .add("commands_per_cycle", got.per_cycle(got.commands))
            .add("writes_per_cycle", got.per_cycle(got.writes))
            .add("reads_per_cycle", got.per_cycle(got.reads))
            .add("allocations_per_cycle", got.per_cycle(got.allocations))
            .print();
    }
}

}  // namespace bench

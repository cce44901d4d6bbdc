// Rates of cycles beside programs on other libraries, in alternating blocks; knows how to talk with
// them, not what they lock with.
// SPDX-License-Identifier: MIT
#include "json_line.hpp"
#include "quantile.hpp"
#include "setting.hpp"
#include "talking_process.hpp"

#include <span>
#include <sstream>
#include <stdexcept>

namespace bench {

namespace {

using std::chrono::milliseconds;

/// Runs `PROGRAM WORKERS MILLISECONDS PORT...` once. All that travels are lines:
///
///     it says   ready                                  connected and warm
///     it reads  go                                     from now on for so many milliseconds
///     it says   done CYCLES FAILURES CPU_US WALL_US    then it may go
measured measure_peer(const setting& on, const cycle_peer& peer, std::size_t workers,
                      milliseconds duration) {
    std::vector<std::string> command{peer.program, std::to_string(workers),
                                     std::to_string(duration.count())};
    for (const auto& node : on.options().nodes) command.push_back(std::to_string(node.port));
    talking_process program(command);
    if (program.next_line() != "ready") throw std::runtime_error(peer.name + " is not ready");
    program.say("go\n");
    std::istringstream line(program.next_line());
    measured got;
    std::string word;
    double cpu_us = 0;
    double wall_us = 0;
    line >> word >> got.cycles >> got.failures >> cpu_us >> wall_us;
    if (word != "done" || !line) throw std::runtime_error(peer.name + " is not understood");
    got.cpu_seconds = cpu_us * 1e-6;
    got.seconds = wall_us * 1e-6;
    return got;
}

/// A program that takes turns, and what came of each round.
struct party {
    const cycle_peer* peer = nullptr;  // none: the library
    measured sum{};
    std::vector<double> rates{};
};

void measure_round(setting& on, std::span<party> parties, std::size_t round, std::size_t workers,
                   milliseconds duration) {
    for (std::size_t i = 0; i < parties.size(); ++i) {
        party& next = parties[(round + i) % parties.size()];
        measured got;
        if (next.peer == nullptr) {
            got = measure_cycles(on, {.workers = workers, .duration = duration});
            on.settle();
        } else {
            got = measure_peer(on, *next.peer, workers, duration);
        }
        next.sum += got;
        next.rates.push_back(got.rate());
    }
}

void print(const setting& on, const party& ours, const party& other, std::size_t workers) {
    json_line("throughput_peer")
        .add("peer", other.peer->name)
        .add("nodes", on.size())
        .add("mode", on.mode())
        .add("workers", workers)
        .add("blocks", ours.rates.size())
        .add("cycles", other.sum.cycles)
        .add("failures", other.sum.failures)
        .add("cycles_per_s", other.sum.rate())
        .add("cpu_us_per_cycle", other.sum.cpu_us_per_cycle())
        .add("our_cycles_per_s", ours.sum.rate())
        .add("our_cpu_us_per_cycle", ours.sum.cpu_us_per_cycle())
        .add("ours_over_peer", median_ratio(ours.rates, other.rates))
        .print();
}

}  // namespace

void measure_throughput_beside_peers(setting& on, const extent& how) {
    std::vector<party> parties(1);
    for (const cycle_peer& peer : how.cycle_peers) {
        if (!peer.program.empty()) parties.push_back({&peer});
    }
    if (parties.size() == 1) return;
    // Twice as long as other blocks: each of a peer's is a new process.
    const milliseconds each = how.each * 2 / static_cast<long>(how.rate_blocks);
    for (const std::size_t workers : how.workers_beside_peers) {
        measure_cycles(on, {.workers = workers, .duration = each});
        on.settle();
        std::vector<party> turns = parties;
        for (std::size_t round = 0; round < how.rate_blocks; ++round) {
            measure_round(on, turns, round, workers, each);
        }
        for (const party& other : std::span(turns).subspan(1)) {
            print(on, turns.front(), other, workers);
        }
    }
}

void print_absent_cycle_peers(const extent& how) {
    for (const cycle_peer& peer : how.cycle_peers) {
        if (!peer.program.empty()) continue;
        json_line("throughput_peer_absent")
            .add("peer", peer.name)
            .add("reason", peer.why_absent)
            .print();
    }
}

}  // namespace bench

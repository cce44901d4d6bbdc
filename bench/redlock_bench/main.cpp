// Measures the library against its own servers on loopback and prints one JSON object per line.
// SPDX-License-Identifier: MIT
#include "contender.hpp"
#include "json_line.hpp"
#include "setting.hpp"

#include <redlock/version.hpp>

#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>

namespace {

constexpr const char* usage =
    "usage: redlock_bench [--quick | --smoke] [--only NAME] [--workers N]\n"
    "                     [--redsync PROGRAM | --without-redsync WHY | --no-peers]\n"
    "\n"
    "Starts redis-servers of its own on loopback (no append-only file, no snapshots), three and\n"
    "then five, and prints one JSON object per line, plain and fenced: rates and counts per cycle\n"
    "with 1 to 1,024 coroutines on distinct resources; the time of an acquire beside that of bare\n"
    "sockets; what keeping many leases takes, and waiting for many resources; with five nodes, the "
    "rate with one hung or dead\n"
    "over the healthy rate, and eight coroutines, then eight processes that contend for one\n"
    "resource, beside programs that poll. A cycle is an acquire and a release.\n"
    "\n"
    "--quick            Shorter by far. Times are rough.\n"
    "--smoke            Below 15 s: the counts are right, the times mean nothing. No peers\n"
    "                   unless --redsync follows.\n"
    "--only NAME        Only throughput, latency, renewal, waiting, fault or contended.\n"
    "--workers N        Rates with this number of coroutines only, as a profiler wants it.\n"
    "--redsync PROGRAM  Contend beside this build of bench/peers/redsync, too.\n"
    "--without-redsync WHY\n"
    "                   Say why it is not there.\n"
    "--no-peers         Contend beside nobody.\n";

struct request {
    bench::extent how;
    std::string_view only;
};

void leave_out_peers(bench::extent& how, std::string_view option) {
    how.peers = false;
    how.without_peers = "left out by " + std::string(option);
}

bool understand(int argc, char** argv, request& r) {
    using namespace std::chrono_literals;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        if (word == "--quick") {
            r.how.each = 500ms;
            r.how.latency_blocks = 15;
            r.how.fault_rounds = 2;
            r.how.waiters = {10'000};
            r.how.contest_rounds = 3;
        } else if (word == "--smoke") {
            r.how = {.each = 30ms,
                     .workers = {1, 16},
                     .workers_under_faults = {16},
                     .fault_rounds = 1,
                     .latency_blocks = 3,
                     .cycles_per_block = 10,
                     .leases = {1'000},
                     .waiters = {1'000},
                     .contest_rounds = 1};
            leave_out_peers(r.how, "--smoke");
        } else if (word == "--only" && i + 1 < argc) {
            r.only = argv[++i];
            const auto known = {"throughput", "latency", "fault",
                                "renewal",    "waiting", "contended"};
            if (std::find(known.begin(), known.end(), r.only) == known.end()) return false;
        } else if (word == "--workers" && i + 1 < argc) {
            const std::size_t workers = std::strtoul(argv[++i], nullptr, 10);
            if (workers < 1 || workers > 10'000) return false;
            r.how.workers = r.how.workers_under_faults = {workers};
        } else if (word == "--redsync" && i + 1 < argc) {
            r.how.redsync = argv[++i];
            r.how.peers = true;
        } else if (word == "--without-redsync" && i + 1 < argc) {
            r.how.without_peers = argv[++i];
        } else if (word == "--no-peers") {
            leave_out_peers(r.how, word);
        } else {
            return false;
        }
    }
    return true;
}

std::string processor() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        const auto colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) {
            return line.substr(colon + 2);
        }
    }
    return "unknown";
}

void print_machine() {
    utsname system{};
    ::uname(&system);
    bench::json_line("machine")
        .add("processor", processor())
        .add("processors", std::thread::hardware_concurrency())
        .add("system", std::string(system.sysname) + ' ' + system.release)
        .add("compiler", __VERSION__)
        .add("build", REDLOCK_BUILD_TYPE)
        .add("redlock", REDLOCK_VERSION)
        .print();
}

void measure(const request& r) {
    print_machine();
    const auto wants = [&r](std::string_view what) { return r.only.empty() || r.only == what; };
    for (const std::size_t nodes : {3, 5}) {
        for (const bool fencing : {false, true}) {
            // Each in one of the settings; the others would only say the same.
            const bool contended = nodes == 5 && fencing && wants("contended");
            const bool waiting = nodes == 3 && fencing && wants("waiting");
            if (r.only == "contended" && !contended) continue;
            if (r.only == "waiting" && !waiting) continue;
            bench::setting on(nodes, fencing);
            if (wants("throughput")) bench::measure_throughput(on, r.how);
            if (wants("latency")) bench::measure_latency(on, r.how);
            if (wants("renewal")) bench::measure_renewal(on, r.how);
            if (waiting) bench::measure_waiting(on, r.how);
            // Of three, one with a fault leaves no choice of a quorum: of five it does.
            if (nodes == 5 && wants("fault")) bench::measure_faults(on, r.how);
            if (contended) bench::measure_contended(on, r.how);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::string_view(argv[1]) == "--help") {
        std::cout << usage;
        return 0;
    }
    request r;
    const bool contends = argc > 1 && std::string_view(argv[1]) == "contend";
    if (!contends && !understand(argc, argv, r)) {
        std::cerr << usage;
        return 2;
    }
    try {
        if (contends) return bench::contend_as_process(argc, argv);
        measure(r);
        return 0;
    } catch (const std::exception& e) {
        std::cerr << "redlock_bench: " << e.what() << '\n';
        return 1;
    }
}

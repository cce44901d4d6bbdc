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
    "                     [--leases N] [--lease-ttl S] [--held-for S]\n"
    "                     [--redsync PROGRAM | --without-redsync WHY | --no-peers]\n"
    "                     [--redsync-cycles NAME=PROGRAM | --without-redsync-cycles NAME=WHY]...\n"
    "\n"
    "Starts redis-servers of its own on loopback (no append-only file, no snapshots), one, three\n"
    "and then five, and prints one JSON object per line, plain and fenced. A cycle is an acquire\n"
    "and a release.\n"
    "\n"
    "throughput  Rates and counts per cycle with 1 to 1,024 workers on distinct resources, as\n"
    "            coroutines and by callbacks, over the ceiling: one thread that sends the least\n"
    "            commands on bare sockets. Three nodes also by UNIX sockets; three and five,\n"
    "            plain, beside other programs.\n"
    "latency     The time of an acquire, and of a cycle, over that of bare sockets: with SET and\n"
    "            DEL, and with the commands that the library sends.\n"
    "renewal     What it takes to keep 1,000, 10,000 and (fenced, three nodes) 100,000 leases,\n"
    "            and what that does to the cycles of 128 workers.\n"
    "waiting     What it takes to wait for many resources (fenced, three nodes).\n"
    "crowds      How soon the next has a lock that is released, with ten waiters and with many\n"
    "            (fenced, three nodes).\n"
    "watching    How soon watchers see a change, and what it takes (fenced, three nodes).\n"
    "listing     What it takes to list what is held among 1,000,000 keys, over the bare SCAN of the\n"
    "            same servers (fenced, three nodes).\n"
    "kinds       Readers, slots and several resources at once, beside the exclusive lock of one\n"
    "            (fenced, three nodes).\n"
    "server_time\n"
    "            For how long requests occupy their server, by its own commandstats, alone and\n"
    "            in commands of 2 to 64, over the least scripts that do the same (one node).\n"
    "growth      How rates and costs grow with nodes (three to nine), workers (1 to 4,096),\n"
    "            clients (1 to 32) and ttl_max (a minute and a day; what is left of each name).\n"
    "tls         Acquires, rates and CPU over TLS, over those without (fenced, three nodes).\n"
    "fault       Rates and tails with one of five nodes hung, dead, or pausing for a fifth of the\n"
    "            time, over the healthy ones.\n"
    "contended   Eight coroutines, eight processes, and 64, that contend for one resource, beside\n"
    "            programs that poll (fenced, five nodes).\n"
    "\n"
    "--quick            Shorter by far. Times are rough; what takes long is left out.\n"
    "--smoke            Below 40 s: the counts are right, the times mean nothing. No contending\n"
    "                   peers unless --redsync follows.\n"
    "--only NAME        Only one of these.\n"
    "--workers N        Rates with this number of workers only, as a profiler wants it.\n"
    "--leases N         Renewal of this number of leases only, fenced on three nodes.\n"
    "--lease-ttl S, --held-for S\n"
    "                   Of the greatest number of leases: their ttl (15), and for how long they are\n"
    "                   kept and measured (a ttl).\n"
    "--redsync PROGRAM  Contend beside this build of bench/peers/redsync, too.\n"
    "--without-redsync WHY\n"
    "                   Say why it is not there.\n"
    "--redsync-cycles NAME=PROGRAM\n"
    "                   Measure throughput beside this program, too: it is run as PROGRAM WORKERS\n"
    "                   MILLISECONDS PORT..., says 'ready', waits for 'go', and says 'done CYCLES\n"
    "                   FAILURES CPU_US WALL_US'.\n"
    "--without-redsync-cycles NAME=WHY\n"
    "                   Say why it is not there.\n"
    "--no-peers         Measure beside nobody.\n";

struct request {
    bench::extent how;
    std::string_view only;
    bool peers_of_cycles = true;
};

void leave_out_contenders(bench::extent& how, std::string_view option) {
    how.peers = false;
    how.without_peers = "left out by " + std::string(option);
}

bool understand_alone(std::string_view word, request& r) {
    using namespace std::chrono_literals;
    if (word == "--quick") {
        r.how.each = 500ms;
        r.how.latency_blocks = 15;
        r.how.fault_rounds = 2;
        r.how.most_leases = 0;
        r.how.growing_workers = {1, 64, 4'096};
        r.how.growing_clients = {1, 32};
        r.how.names = 0;
        r.how.waiters = {10'000};
        r.how.crowds_for_one_name = {{10, 10}, {100, 1'000}};
        r.how.crowds_for_own_names = {10, 10'000};
        r.how.watched_changes = 40;
        r.how.listed_rounds = 1;
        r.how.contest = 500ms;
        r.how.contest_rounds = 3;
        r.how.many_contenders = 0;
    } else if (word == "--smoke") {
        r.how = {.each = 30ms,
                 .workers = {1, 16},
                 .workers_by_unix_socket = {16},
                 .workers_by_tls = {1, 16},
                 .workers_beside_peers = {16},
                 .workers_under_faults = {16},
                 .rate_blocks = 2,
                 .fault_rounds = 1,
                 .latency_blocks = 3,
                 .cycles_per_block = 10,
                 .lease_ttl = 4'500ms,  // beyond a stall: none is to be lost
                 .leases = {1'000},
                 .most_leases = 0,
                 .growing_nodes = {3},
                 .growing_workers = {1, 16},
                 .growing_clients = {2},
                 .names = 0,
                 .waiters = {1'000},
                 .crowds_for_one_name = {{2, 4}},
                 .crowds_for_own_names = {4},
                 .crowd_turns = 4,
                 .watched = {{1, 10}, {100, 100}},
                 .watched_changes = 3,
                 .listed_keys = 3'000,
                 .listed_rounds = 1,
                 .contest = 300ms,  // beyond a stall: everybody is to have a turn
                 .contest_rounds = 1,
                 .many_contenders = 0};
        leave_out_contenders(r.how, word);
    } else if (word == "--no-peers") {
        leave_out_contenders(r.how, word);
        r.peers_of_cycles = false;
    } else {
        return false;
    }
    return true;
}

/// NAME=WHAT.
bool understand_peer(std::string_view value, std::string bench::cycle_peer::*what, request& r) {
    const auto equals = value.find('=');
    if (equals == 0 || equals >= value.size() - 1) return false;
    auto& peer = r.how.cycle_peers.emplace_back();
    peer.name = value.substr(0, equals);
    peer.*what = value.substr(equals + 1);
    return true;
}

bool understand_with(std::string_view word, const char* value, request& r) {
    if (word == "--only") {
        r.only = value;
        const auto known = {"throughput", "latency", "fault", "renewal",
                            "waiting",    "crowds", "watching", "listing", "kinds",   "tls",
                            "contended",  "server_time", "growth"};
        return std::find(known.begin(), known.end(), r.only) != known.end();
    }
    if (word == "--workers") {
        const std::size_t workers = std::strtoul(value, nullptr, 10);
        r.how.workers = r.how.workers_by_unix_socket = r.how.workers_by_tls =
            r.how.workers_beside_peers = r.how.workers_under_faults = {workers};
        return workers >= 1 && workers <= 10'000;
    }
    if (word == "--leases") {
        r.how.leases.clear();
        r.how.most_leases = std::strtoul(value, nullptr, 10);
        return r.how.most_leases >= 1;
    }
    if (word == "--lease-ttl" || word == "--held-for") {
        const std::chrono::seconds given(std::strtoul(value, nullptr, 10));
        (word == "--held-for" ? r.how.most_leases_held : r.how.most_leases_ttl) = given;
        return given.count() >= 1 && given.count() <= 3'600;
    }
    if (word == "--redsync") {
        r.how.redsync = value;
        r.how.peers = true;
        return true;
    }
    if (word == "--without-redsync") {
        r.how.without_peers = value;
        return true;
    }
    if (word == "--redsync-cycles") return understand_peer(value, &bench::cycle_peer::program, r);
    return word == "--without-redsync-cycles" &&
           understand_peer(value, &bench::cycle_peer::why_absent, r);
}

bool understand(int argc, char** argv, request& r) {
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        if (understand_alone(word, r)) continue;
        if (i + 1 == argc || !understand_with(word, argv[++i], r)) return false;
    }
    if (!r.peers_of_cycles) r.how.cycle_peers.clear();
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

bool wants(const request& r, std::string_view what) { return r.only.empty() || r.only == what; }

void measure(const request& r, std::size_t nodes, bool fencing) {
    // Some in one of the settings alone; the others would only say the same.
    const bool waiting = nodes == 3 && fencing && wants(r, "waiting");
    const bool crowds = nodes == 3 && fencing && wants(r, "crowds");
    const bool watching = nodes == 3 && fencing && wants(r, "watching");
    const bool listing = nodes == 3 && fencing && wants(r, "listing");
    const bool kinds = nodes == 3 && fencing && wants(r, "kinds");
    const bool tls = nodes == 3 && fencing && wants(r, "tls");
    const bool contended = nodes == 5 && fencing && wants(r, "contended");
    const bool renewal = nodes > 1 && wants(r, "renewal");
    // Of three, one with a fault leaves no choice of a quorum: of five it does.
    const bool fault = nodes == 5 && wants(r, "fault");
    const bool throughput = wants(r, "throughput");
    const bool latency = wants(r, "latency");
    const bool server_time = nodes == 1 && fencing && wants(r, "server_time");
    if (!(waiting || crowds || watching || listing || contended || kinds || tls || renewal || fault || throughput ||
          latency || server_time))
        return;
    bench::setting on(nodes, fencing);
    if (throughput) bench::measure_throughput(on, r.how, r.how.workers);
    if (throughput && nodes > 1 && !fencing) bench::measure_throughput_beside_peers(on, r.how);
    if (latency) bench::measure_latency(on, r.how);
    if (renewal) bench::measure_renewal(on, r.how);
    if (waiting) bench::measure_waiting(on, r.how);
    if (crowds) bench::measure_crowds(on, r.how);
    if (watching) bench::measure_watching(on, r.how);
    if (kinds) bench::measure_kinds(on, r.how);
    if (tls) bench::measure_tls(on, r.how);
    if (fault) bench::measure_faults(on, r.how);
    if (contended) bench::measure_contended(on, r.how);
    if (server_time) bench::measure_server_time(on, r.how);
    if (listing) bench::measure_listing(on, r.how);  // last: it leaves its keys
}

void measure_by_unix_socket(const request& r, bool fencing) {
    if (!wants(r, "throughput") && !wants(r, "latency")) return;
    bench::setting on(3, fencing, bench::transport::unix_socket);
    if (wants(r, "throughput")) {
        bench::measure_throughput(on, r.how, r.how.workers_by_unix_socket);
    }
    if (wants(r, "latency")) bench::measure_latency(on, r.how);
}

void measure(const request& r) {
    print_machine();
    if (wants(r, "throughput")) bench::print_absent_cycle_peers(r.how);
    for (const std::size_t nodes : {1, 3, 5}) {
        for (const bool fencing : {false, true}) measure(r, nodes, fencing);
    }
    for (const bool fencing : {false, true}) measure_by_unix_socket(r, fencing);
    if (wants(r, "growth")) bench::measure_growth(r.how);
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

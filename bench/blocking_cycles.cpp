// How long an acquire and release of the blocking client take, by threads of which each has a lock of its
// own; one half of bench/language_times.py.
// SPDX-License-Identifier: MIT
#include <redlock/blocking_client.hpp>
#include <redlock/config.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

using std::chrono::steady_clock;

// Microseconds of each cycle.
std::vector<double> cycles_of(redlock::blocking_client& client, const std::string& resource, int count) {
    std::vector<double> out;
    for (int i = 0; i < count; ++i) {
        const auto began = steady_clock::now();
        auto lease = client.acquire(resource);
        if (!lease || !client.release(std::move(*lease))) std::exit(1);
        out.push_back(std::chrono::duration<double, std::micro>(steady_clock::now() - began).count());
    }
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::puts("usage: bench_blocking_cycles THREADS CYCLES; prints the microseconds of each cycle");
        return argc == 1 ? 0 : 2;
    }
    const int threads = std::atoi(argv[1]);
    const int count = std::atoi(argv[2]);
    redlock::blocking_client client(redlock::options_from_environment().value());
    cycles_of(client, "redlock-bench:warm", 50);
    std::vector<std::vector<double>> each(static_cast<std::size_t>(threads));
    std::vector<std::thread> running;
    for (int i = 0; i < threads; ++i) {
        running.emplace_back([&, i] {
            each[static_cast<std::size_t>(i)] =
                cycles_of(client, "redlock-bench:" + std::to_string(i), count);
        });
    }
    for (std::thread& one : running) one.join();
    for (const auto& of_thread : each) {
        for (const double us : of_thread) std::printf("%.1f\n", us);
    }
}

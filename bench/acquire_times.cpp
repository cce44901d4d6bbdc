// Measures how long one program waits for a free lock, for scripts/demo; knows only the public API.
// SPDX-License-Identifier: MIT
#include <redlock/blocking_client.hpp>
#include <redlock/config.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t cycles = 300;
constexpr std::size_t warm_up = 20;  // connections are opened meanwhile

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3 || std::string(argv[1]) != "--config") {
        std::cerr << "usage: bench_acquire_times --config FILE\n"
                     "Prints the median and the 99th percentile of 300 acquires in microseconds, "
                     "and how many were refused.\n";
        return 2;
    }
    const auto options = redlock::load_options(argv[2]);
    if (!options) {
        std::cerr << options.error().message() << '\n';
        return 2;
    }
    redlock::blocking_client client(*options);
    redlock::acquire_options once;
    once.ttl = std::chrono::seconds(5);
    std::vector<long long> times_us;
    std::size_t refused = 0;
    for (std::size_t i = 0; i < warm_up + cycles; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        auto lease = client.acquire("demo:times", once);
        const auto end = std::chrono::steady_clock::now();
        if (lease) static_cast<void>(client.release(std::move(*lease)));
        if (i < warm_up) continue;
        refused += lease ? 0 : 1;
        times_us.push_back(
            std::chrono::duration_cast<std::chrono::microseconds>(end - begin).count());
    }
    std::sort(times_us.begin(), times_us.end());
    std::cout << times_us[cycles / 2] << ' ' << times_us[cycles * 99 / 100] << ' ' << refused
              << '\n';
    return 0;
}

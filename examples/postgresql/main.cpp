// Ways to sell from one table in PostgreSQL, beside each other: rates, and what a dead or a stopped
// holder costs. The servers are those of REDLOCK_CONFIG and PGHOST.
// SPDX-License-Identifier: MIT
#include "load.hpp"

#include <redlock/config.hpp>

#include <future>
#include <iomanip>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace example;

constexpr auto longest_round = 600ms;
const std::vector<std::size_t> crowds{1, 16, 128};

redlock::client_options options() {
    auto read = redlock::configuration_from_environment();
    if (!read) throw std::runtime_error(read.error().message());
    return read->client;
}

const way& way_named(const std::string& name) {
    for (const way& one : all_ways()) {
        if (one.name == name) return one;
    }
    throw std::runtime_error("there is no way '" + name + "'");
}

std::vector<fault> measure_all_faults(redlock::blocking_client& locks, const std::string& program) {
    std::vector<std::future<fault>> begun;
    for (const way& one : all_ways()) {
        begun.push_back(std::async(std::launch::async,
                                   [&] { return measure_faults(one, locks, program); }));
    }
    std::vector<fault> all;
    for (auto& one : begun) all.push_back(one.get());
    return all;
}

void print_row(const way& by, const std::vector<rate>& rates, const fault& under) {
    std::cout << std::left << std::setw(20) << by.name << std::right << std::fixed;
    for (const rate& one : rates) {
        std::cout << std::setw(8) << std::setprecision(0) << one.sold_per_s;
    }
    for (const rate& one : rates) {
        std::cout << std::setw(8) << std::setprecision(2)
                  << static_cast<double>(one.retries) / static_cast<double>(one.sold);
    }
    std::cout << std::setw(9) << std::setprecision(2) << under.killed_s << std::setw(9)
              << under.stopped_s << "   " << under.late << '\n';
}

int show(const std::string& program) {
    redlock::blocking_client locks(options());
    {
        database first;
        create_tables(first);
    }
    // All ways at once: this takes waiting, not computing.
    const auto faults = measure_all_faults(locks, program);
    std::cout << "                      sold per second         retries per sale      s without a "
                 "sale   late write\n"
                 "buyers                   1      16     128       1      16     128   killed"
                 "  stopped\n";
    for (std::size_t i = 0; i < all_ways().size(); ++i) {
        std::vector<rate> rates;
        for (const std::size_t buyers : crowds) {
            rates.push_back(measure_rate(all_ways()[i], locks, buyers, longest_round));
        }
        print_row(all_ways()[i], rates, faults[i]);
    }
    const fault& fenced = faults.front();
    std::cout << "none oversold; the holder that was stopped past its lease wrote with fence "
              << fenced.late_fence << " and was " << fenced.late << ": the row had seen "
              << fenced.fence_of_row << '\n';
    if (fenced.late != "refused" || fenced.late_fence >= fenced.fence_of_row) {
        std::cerr << "NOT SO: the late write has to be refused\n";
        return 1;
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const std::vector<std::string> words(argv + 1, argv + argc);
        if (words.empty()) return show(argv[0]);
        if (words.size() != 4 || words[0] != "hold") {
            std::cerr << "usage: " << argv[0] << "\n";
            return 2;
        }
        redlock::blocking_client locks(options());
        hold(way_named(words[1]), locks, words[2], words[3] == "stop");
        return 0;
    } catch (const std::exception& e) {
        std::cerr << "failed: " << e.what() << '\n';
        return 1;
    }
}

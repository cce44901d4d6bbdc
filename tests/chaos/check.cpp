// Reads the files of programs that are gone into the checker.
// SPDX-License-Identifier: MIT
#include "check.hpp"

#include "checker.hpp"
#include "journal.hpp"

#include <iostream>

namespace redlock::chaos {

int run_check(const std::vector<std::filesystem::path>& histories) {
    checker judge([](const violation& found) {
        std::cerr << found.text << ", at " << found.at.time_since_epoch().count() << " ns\n";
    });
    for (unsigned number = 0; number < histories.size(); ++number) {
        const auto who = histories[number].stem().string();
        journal_reader(histories[number]).read([&](const entry& e) { judge.take(number, who, e); });
        judge.died(who);
    }
    const auto& counts = judge.counts();
    std::cout << "{\"grants\": " << counts.grants << ", \"readers\": " << counts.readers
              << ", \"slots\": " << counts.slots << ", \"several\": " << counts.several
              << ", \"kept\": " << counts.kept
              << ", \"losses\": " << counts.losses << ", \"refusals\": " << counts.refusals
              << ", \"violations\": " << judge.violations() << "}\n";
    return judge.violations() == 0 ? 0 : 1;
}

}  // namespace redlock::chaos

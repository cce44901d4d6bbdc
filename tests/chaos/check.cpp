// Reads histories to the judges, and says what they say.
// SPDX-License-Identifier: MIT
#include "check.hpp"

#include "judge/checker.hpp"
#include "judge/journal.hpp"

#include <functional>
#include <iostream>
#include <sstream>

namespace redlock::chaos {
namespace {

using judge::entry;

// `take`: the number of the program, its name, and one line of it.
void read(const histories& all,
          const std::function<void(unsigned, const std::string&, const entry&)>& take) {
    for (unsigned number = 0; number < all.size(); ++number) {
        const auto who = all[number].stem().string();
        judge::journal_reader(all[number]).read([&](const entry& e) { take(number, who, e); });
    }
}

void tell(const judge::violation& found) {
    std::cerr << found.text << ", at " << found.at.time_since_epoch().count() << " ns\n";
}

}  // namespace

int run_check(const histories& all) {
    judge::checker judge(tell);
    read(all, [&](unsigned number, const std::string& who, const entry& e) {
        judge.take(number, who, e);
    });
    for (const auto& history : all) judge.died(history.stem().string());
    const auto& counts = judge.counts();
    std::cout << "{\"grants\": " << counts.grants << ", \"readers\": " << counts.readers
              << ", \"slots\": " << counts.slots << ", \"several\": " << counts.several
              << ", \"kept\": " << counts.kept
              << ", \"losses\": " << counts.losses << ", \"refusals\": " << counts.refusals
              << ", \"violations\": " << judge.violations() << "}\n";
    return judge.violations() == 0 ? 0 : 1;
}

int run_litter(const histories& all, const std::set<std::string>& killed) {
    judge::times judge([](const judge::violation&) {});  // they are judged when all have ended
    for (const auto& history : all) judge.began(history.stem().string());
    read(all, [&](unsigned, const std::string& who, const entry& e) { judge.take(who, e); });
    for (const auto& who : killed) judge.died(who);
    bool is_clean = true;
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string node;
        std::string key;
        std::string value;
        words >> node >> key >> std::ws;
        std::getline(words, value);
        if (judge.may_remain(value, clock::now())) continue;
        is_clean = false;
        std::cout << node << " keeps " << key << " of " << value << '\n';
    }
    return is_clean ? 0 : 1;
}

int run_missing(const histories& all, clock::time_point since) {
    judge::checker judge([](const judge::violation&) {});
    std::set<std::pair<std::string, std::uint64_t>> begun;  // since then, by program
    read(all, [&](unsigned number, const std::string& who, const entry& e) {
        if (e.what == entry::kind::granted && e.at > since) begun.emplace(who, e.section);
        if (begun.contains({who, e.section})) judge.take(number, who, e);
    });
    for (const auto& history : all) judge.died(history.stem().string());
    const auto missing = judge.missing_kinds();
    for (const auto& kind : missing) std::cout << kind << '\n';
    return missing.empty() ? 0 : 1;
}

}  // namespace redlock::chaos

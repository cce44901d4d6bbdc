// The command line of the chaos run, which is also the program of its workers.
// SPDX-License-Identifier: MIT
#include "run.hpp"
#include "worker.hpp"

#include <exception>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr auto usage = R"(usage: redlock_chaos [--minutes M] [--seconds S] [--seed N]
       redlock_chaos --self-test

Five Redis masters and four contending processes on this machine; a minority of the masters is
killed, emptied, frozen, cut off and starved at random, and the processes are killed and paused, for
so long (default: one minute) and some ten seconds more. Every 20 s all rest, and nothing may be
left on any master. The histories of all are checked: no two holders at once, fences in order,
nothing left behind, everybody progressed.

--minutes M, --seconds S   How long; they add up.
--seed N                   Which faults; random by default, and printed.
--self-test                Plants violations and checks that each is seen.

Each fault is one line, each violation its story on the standard error; the last line is a JSON
object with what was counted. Status 0, or 1 where a promise was broken, 2 without a verdict.
)";

redlock::chaos::run_options parse(const std::vector<std::string>& words) {
    redlock::chaos::run_options options;
    options.seed = std::random_device{}();
    std::chrono::seconds time{0};
    for (std::size_t i = 0; i < words.size(); i += 2) {
        if (i + 1 == words.size()) throw std::invalid_argument(words[i] + ": no value");
        const auto& word = words[i];
        const auto value = std::stoull(words[i + 1]);
        if (word == "--minutes") {
            time += std::chrono::minutes(value);
        } else if (word == "--seconds") {
            time += std::chrono::seconds(value);
        } else if (word == "--seed") {
            options.seed = value;
        } else {
            throw std::invalid_argument("'" + word + "' is not understood; see --help");
        }
    }
    if (time.count() > 0) options.time = time;
    return options;
}

}  // namespace

int main(int argc, char** argv) try {
    using namespace redlock::chaos;
    std::vector<std::string> words(argv + 1, argv + argc);
    const std::string first = words.empty() ? "" : words.front();
    if (first == "--help" || first == "-h") {
        std::cout << usage;
        return 0;
    }
    if (first == "--self-test") return run_self_test();
    if (first == "worker") {
        words.erase(words.begin());
        return run_worker(worker_options::from(words));
    }
    return run_chaos(parse(words));
} catch (const std::exception& failure) {
    std::cerr << "chaos: " << failure.what() << '\n';
    return 2;
}

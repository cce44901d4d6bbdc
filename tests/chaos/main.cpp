// The command line of the chaos run, which is also the program of its workers.
// SPDX-License-Identifier: MIT
#include "check.hpp"
#include "run.hpp"
#include "worker.hpp"

#include <exception>
#include <iostream>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr auto usage =
    R"(usage: redlock_chaos [--minutes M] [--seconds S] [--seed N] [--majority] [--second-checker PROGRAM]
       redlock_chaos --self-test [--second-checker PROGRAM]
       redlock_chaos check HISTORY...
       redlock_chaos litter [--killed PROGRAM]... HISTORY...
       redlock_chaos missing --since NS HISTORY...

Five Redis masters and four contending processes on this machine; a minority of the masters is
killed, emptied, set back, frozen, cut off, starved and made replicas at random, and the processes
are killed and paused, for so long (default: one minute) and some ten seconds more; for up to as long
again where a contender or a kind of lock had no success yet, as on a slow machine. Every 20 s all rest, and
nothing may be left on any master. Some have a resource alone, some share it, some have
one of its slots, some for a least time. The histories of all are checked: no two holders at once,
no reader beside a writer, never more than there are slots, nobody before a least time is over,
fences in order, losses reported, nothing left behind, everybody progressed.

--minutes M, --seconds S   How long; they add up.
--seed N                   Which faults; random by default, and printed.
--majority                 Any number of masters is hit at once, often all by the same. Every other
                           ten seconds they may also forget by the majority: two holders, or fences
                           out of order, are excused until one ttl_max after, and counted.
--second-checker PROGRAM   Has the histories judged by it, too: PROGRAM DIRECTORY ends with 0 or 1.
--self-test                Plants violations and checks that each is seen.
check HISTORY...           Judges what other programs wrote, which must be gone by now.
litter HISTORY...          Reads lines "NODE KEY VALUE" and prints those that may not be on a node
                           while these programs rest, but for those that were killed.
missing HISTORY...         Prints which kinds of locks these programs have not had since NS.

Each fault is one line, each violation its story on the standard error; the last line is a JSON
object with what was counted. Status 0, or 1 where a promise was broken, 2 without a verdict.
)";

struct command_line {
    redlock::chaos::run_options run;
    bool is_self_test = false;
};

command_line parse(const std::vector<std::string>& words) {
    command_line line;
    line.run.seed = std::random_device{}();
    std::chrono::seconds time{0};
    for (std::size_t i = 0; i < words.size(); ++i) {
        const auto& word = words[i];
        const auto value = [&]() -> const std::string& {
            if (++i == words.size()) throw std::invalid_argument(word + ": no value");
            return words[i];
        };
        if (word == "--majority") {
            line.run.majority = true;
        } else if (word == "--self-test") {
            line.is_self_test = true;
        } else if (word == "--second-checker") {
            line.run.second_checker = value();
        } else if (word == "--minutes") {
            time += std::chrono::minutes(std::stoull(value()));
        } else if (word == "--seconds") {
            time += std::chrono::seconds(std::stoull(value()));
        } else if (word == "--seed") {
            line.run.seed = std::stoull(value());
        } else {
            throw std::invalid_argument("'" + word + "' is not understood; see --help");
        }
    }
    if (time.count() > 0) line.run.time = time;
    return line;
}

// What follows the name of a judgement.
struct judged_files {
    redlock::chaos::histories all;
    std::set<std::string> killed;
    redlock::clock::time_point since{};

    explicit judged_files(const std::vector<std::string>& words) {
        for (std::size_t i = 1; i < words.size(); ++i) {
            const bool has_value = words[i] == "--killed" || words[i] == "--since";
            if (!has_value) {
                all.emplace_back(words[i]);
            } else if (i + 1 == words.size()) {
                throw std::invalid_argument(words[i] + ": no value");
            } else if (words[i] == "--killed") {
                killed.insert(words[++i]);
            } else {
                since += std::chrono::nanoseconds(std::stoll(words[++i]));
            }
        }
    }
};

}  // namespace

int main(int argc, char** argv) try {
    using namespace redlock::chaos;
    std::vector<std::string> words(argv + 1, argv + argc);
    const std::string first = words.empty() ? "" : words.front();
    if (first == "--help" || first == "-h") {
        std::cout << usage;
        return 0;
    }
    if (first == "worker") {
        words.erase(words.begin());
        return run_worker(worker_options::from(words));
    }
    if (first == "check") return run_check(judged_files(words).all);
    if (first == "litter") {
        const judged_files given(words);
        return run_litter(given.all, given.killed);
    }
    if (first == "missing") {
        const judged_files given(words);
        return run_missing(given.all, given.since);
    }
    const auto line = parse(words);
    return line.is_self_test ? run_self_test(line.run.second_checker) : run_chaos(line.run);
} catch (const std::exception& failure) {
    std::cerr << "chaos: " << failure.what() << '\n';
    return 2;
}

// A contest between processes.
// SPDX-License-Identifier: MIT
#include "processes.hpp"

#include "talking_process.hpp"

#include <redlock/clock.hpp>

#include <list>
#include <sstream>
#include <stdexcept>

namespace bench {

namespace {

using namespace std::chrono_literals;

void gather(talking_process& from, std::size_t worker, contest& into) {
    for (;;) {
        std::istringstream line(from.next_line());
        std::string word;
        line >> word;
        if (word == "done") {
            double cpu_us = 0;
            std::uint64_t failures = 0;
            if (!(line >> cpu_us >> failures)) break;
            into.cpu_us += cpu_us;
            into.failures += failures;
            return;
        }
        turn t;
        t.worker = worker;
        line >> t.fence >> t.asked_ns >> t.granted_ns >> t.released_ns;
        if (word != "turn" || !line) break;
        into.turns.push_back(t);
    }
    throw std::runtime_error("a contender is not understood");
}

}  // namespace

contest contest_of_processes(const std::vector<std::string>& command, std::size_t processes,
                             std::chrono::milliseconds duration) {
    std::list<talking_process> all;
    for (std::size_t i = 0; i < processes; ++i) all.emplace_back(command);
    for (auto& one : all) {
        if (one.next_line() != "ready") throw std::runtime_error("a contender is not ready");
    }
    // Soon, so that all of them know by then.
    const auto begin = redlock::clock::now() + 20ms + processes * 1ms;
    contest got;
    got.workers = processes;
    got.when.begin_ns = begin.time_since_epoch().count();
    got.when.end_ns = (begin + duration).time_since_epoch().count();
    for (auto& one : all) {
        one.say("go " + std::to_string(got.when.begin_ns) + ' ' + std::to_string(got.when.end_ns) +
                '\n');
    }
    std::size_t worker = 0;
    for (auto& one : all) gather(one, worker++, got);
    return got;
}

}  // namespace bench

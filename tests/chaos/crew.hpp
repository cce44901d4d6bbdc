// The contending processes: starts, kills, pauses and replaces them; knows no node.
// SPDX-License-Identifier: MIT
#pragma once

#include "judge/checker.hpp"
#include "judge/journal.hpp"
#include "worker.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace redlock::chaos {

class crew {
public:
    struct terms {
        unsigned workers = 4;
        worker_options each;  ///< Name, history and seed are drawn for each process.
        std::filesystem::path directory;
        std::uint64_t seed = 0;
        bool keeps_histories = false;  ///< Also of those that are over and were good.
    };
    crew(terms t, judge::checker& judge, std::function<void(const std::string&)> log);
    ~crew();
    crew(const crew&) = delete;
    crew& operator=(const crew&) = delete;

    /// Wakes and replaces those that are due, and perhaps kills or pauses one.
    void step();
    /// Hands what was written to the judges.
    void read();

    /// Wakes and replaces all.
    void mend();
    void rest();  ///< Tells all to.
    bool is_quiet() const;
    void resume();
    /// Tells all to end, and waits; those that did not are reported and killed.
    void end(std::chrono::milliseconds limit);

    std::uint64_t kills() const noexcept { return kills_; }
    std::uint64_t pauses() const noexcept { return pauses_; }

private:
    struct member {
        unsigned number;
        unsigned generation;
        std::string name;
        pid_t pid;
        judge::journal_reader history;
        bool is_paused = false;
        bool is_quiet = false;
        clock::time_point due{};  // to be woken, or replaced
    };

    void start(member& m);
    void bury(member& m);
    void wake(member& m);
    void read(member& m);
    void expect_alive(member& m);
    int between(int from, int to);

    terms terms_;
    judge::checker& judge_;
    std::function<void(const std::string&)> log_;
    std::mt19937_64 random_;
    std::vector<member> members_;
    clock::time_point next_fault_;
    std::uint64_t kills_ = 0;
    std::uint64_t pauses_ = 0;
};

}  // namespace redlock::chaos

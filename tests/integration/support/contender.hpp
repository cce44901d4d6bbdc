// A process of contenders for one lock, and what it wrote down of its leases; knows no internals.
// SPDX-License-Identifier: MIT
#pragma once

#include "../tool_process.hpp"
#include "cluster.hpp"
#include "judge/timeline.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace redlock::testing {

/// One lease that a contender had.
struct contender_turn {
    int process = 0;
    unsigned coroutine = 0;
    judge::span held;
};

/// How a process contends for "r": each of its coroutines takes the lock, adds one to "counter" on
/// a server that is no node, not atomically, and gives the lock back, again and again for a while.
struct contender_plan {
    bool fencing = true;
    int process = 0;
    int coroutines = 8;
    int ms = 3'000;
};

/// Starts it: this very program, as a process of its own. The file `out` is its history; it exits
/// with 0 where no acquire and no release failed.
std::unique_ptr<tool_process> start_contender(cluster& nodes, const redis_server& counter,
                                              const contender_plan& plan, const std::string& out);

std::vector<contender_turn> read_turns(const std::string& path, int process);

}  // namespace redlock::testing

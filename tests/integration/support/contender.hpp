// A process of contenders for one lock, and what it wrote down of its leases; knows no internals.
// SPDX-License-Identifier: MIT
#pragma once

#include "../tool_process.hpp"
#include "cluster.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace redlock::testing {

/// One lease that a contender had.
struct contender_turn {
    int process = 0;
    int coroutine = 0;
    std::uint64_t fence = 0;
    std::int64_t granted_at_ns = 0;
    std::int64_t trusted_until_ns = 0;
    std::int64_t waited_ns = 0;
};

/// How a process contends for "r": each of its coroutines takes the lock, adds one to "counter" on
/// a server that is no node, not atomically, and gives the lock back, again and again for a while.
struct contender_plan {
    bool fencing = true;
    int process = 0;
    int coroutines = 8;
    int ms = 3'000;
};

/// Starts it: this very program, as a process of its own. Its turns go to the file `out`; it exits
/// with 0 where no acquire and no release failed.
std::unique_ptr<tool_process> start_contender(cluster& nodes, const redis_server& counter,
                                              const contender_plan& plan, const std::string& out);

std::vector<contender_turn> read_turns(const std::string& path);

}  // namespace redlock::testing

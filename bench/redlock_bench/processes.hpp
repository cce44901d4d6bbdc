// A contest between processes; knows how to talk with them, not what they lock with.
// SPDX-License-Identifier: MIT
#pragma once

#include "turns.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace bench {

/// Starts so many processes of one command, has them contend for so long and gathers what they
/// tell. All are gone when it returns. Throws `std::runtime_error` when one does not play by the
/// rules, which are lines of words and whole numbers, the instants in ns of CLOCK_BOOTTIME:
///
///     it says   ready                                  connected; nothing is taken yet
///     it reads  go BEGIN END                           the window
///     it says   turn FENCE BEGUN GRANTED RELEASED      any number of them, after the end
///               done CPU_IN_US FAILURES                then it may go
contest contest_of_processes(const std::vector<std::string>& command, std::size_t processes,
                             std::chrono::milliseconds duration);

}  // namespace bench

// Has the judges read histories of other programs; knows neither these nor which faults there were.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/clock.hpp>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace redlock::chaos {

using histories = std::vector<std::filesystem::path>;

/// Each history is one program's, which is gone by now. Violations are lines on the standard error,
/// the counts one line of JSON; 1 where a promise was broken.
int run_check(const histories& all);

/// Reads from the standard input what is on the nodes, a line "NODE KEY VALUE" each, while all
/// programs but the killed rest. Repeats those that may not be there; 1 where there is one.
int run_litter(const histories& all, const std::set<std::string>& killed);

/// Prints a line for each kind of lock that no program was granted since then as it is meant to be
/// had; 1 where there is one.
int run_missing(const histories& all, clock::time_point since);

}  // namespace redlock::chaos

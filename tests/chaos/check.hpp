// Judges histories that are complete; knows neither who wrote them nor which faults there were.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <vector>

namespace redlock::chaos {

/// Each history is one program's, which is gone by now. Violations are lines on the standard error,
/// the counts one line of JSON; 1 where a promise was broken.
int run_check(const std::vector<std::filesystem::path>& histories);

}  // namespace redlock::chaos

// One chaos run: contenders, faults and the verdict over both; knows no single fault.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>

namespace redlock::chaos {

struct run_options {
    std::chrono::seconds time{60};
    std::uint64_t seed = 0;
    bool majority = false;          ///< Faults may hit all nodes at once.
    std::filesystem::path
        second_checker;  ///< A second judge of the histories (second_checker.hpp); or none.
};

/// 0 where no promise was broken, 1 otherwise. Prints each violation with the story around it, and
/// as the last line of the standard output what was counted, a JSON object.
int run_chaos(const run_options& options);

/// Plants one violation of each kind, and none: 0 where each was seen, by the second checker, too.
int run_self_test(const std::filesystem::path& second_checker);

}  // namespace redlock::chaos

// One chaos run: contenders, faults and the verdict over both; knows no single fault.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>

namespace redlock::chaos {

struct run_options {
    std::chrono::seconds time{60};
    std::uint64_t seed = 0;
};

/// 0 where no promise was broken, 1 otherwise. Prints each violation with the story around it, and
/// as the last line of the standard output what was counted, a JSON object.
int run_chaos(const run_options& options);

/// Plants one violation of each kind, and none: 0 where each was seen.
int run_self_test();

}  // namespace redlock::chaos

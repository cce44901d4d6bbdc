// Buyers of one way beside each other, and what a dead or a stopped one costs; knows no way.
// SPDX-License-Identifier: MIT
#pragma once

#include "ways.hpp"

#include <redlock/blocking_client.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace example {

struct rate {
    double sold_per_s = 0;
    std::uint64_t sold = 0;
    std::uint64_t retries = 0;
};

/// So many buyers buy from a stock of 1,000 until it is gone, for `longest` at most, or until the
/// first piece is sold. Throws if what is left and what was ordered are not the stock together.
rate measure_rate(const way& by, redlock::blocking_client& locks, std::size_t buyers,
                  std::chrono::milliseconds longest);

struct fault {
    double killed_s = 0;   ///< Without a sale, after the holder was killed.
    double stopped_s = 0;  ///< The same while it was stopped for five seconds.
    std::string late;      ///< What became of its write when it went on.
    std::uint64_t late_fence = 0;
    std::uint64_t fence_of_row = 0;
};

/// Two buyers go on while a process of its own, `program hold WAY ITEM`, has read the stock and is
/// killed; then another one is stopped for five seconds. Throws as above.
fault measure_faults(const way& by, redlock::blocking_client& locks,
                     const std::string& program);

/// What that process does: says "holding", waits for SIGKILL, or stops where `stops`, and says what
/// became of its sale.
void hold(const way& by, redlock::blocking_client& locks, const std::string& item, bool stops);

}  // namespace example

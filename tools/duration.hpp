// Durations as people write them on a command line; knows no option.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace redlock::tool {

/// Reads numbers with units, ms, s, m or h, and adds them up: "10s", "0.5s", "1m30s", "1 m 30 s".
/// Returns what is wrong and what would be right; empty when it was read.
std::string parse_duration(std::string_view text, std::chrono::milliseconds& out);

/// Reads seconds as flock(1) does, a number without a unit: "5", "0.5". Part of a millisecond counts
/// as one. Returns what is wrong and what would be right; empty when it was read.
std::string parse_seconds(std::string_view text, std::chrono::milliseconds& out);

/// "1500ms", "10s", "5m": the largest unit in which it is a whole number.
std::string format_duration(std::chrono::milliseconds span);

}  // namespace redlock::tool

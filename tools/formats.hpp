// How the command writes durations, columns of a terminal and JSON.
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::tool {

/// Reads numbers with units, ms, s, m, h or d, and adds up: "10s", "0.5s", "1m30s", "1 m 30 s".
/// Returns what is wrong and what would be right; empty when it was read.
std::string parse_duration(std::string_view text, std::chrono::milliseconds& out);

/// Reads seconds as flock(1) does, a number without a unit: "5", "0.5". Part of a millisecond
/// counts as one. Returns what is wrong and what would be right; empty when it was read.
std::string parse_seconds(std::string_view text, std::chrono::milliseconds& out);

/// "1500ms", "10s", "5m": the largest unit in which it is a whole number.
std::string format_duration(std::chrono::milliseconds span);

/// "1.5 s": with a tenth.
std::string seconds_text(std::chrono::milliseconds span);

/// As "2026-11-26T17:04:10.123Z".
std::string utc_text(std::chrono::system_clock::time_point at);

/// How many columns a text takes that `shown` made: two for a wide character, as most of East
/// Asia's are, none for one that combines with the character before it, one for every other.
std::size_t width(std::string_view text) noexcept;

struct fitting {
    std::string text;
    std::size_t width = 0;
};

/// As many characters of `raw` as take `columns` at most, escaped as `printable` does: no character
/// and no escape is cut in two.
fitting fit(std::string_view raw, std::size_t columns);

/// Appends rows, with columns as wide as their widest field.
template <std::size_t N>
void add_rows(std::string& out, const std::vector<std::array<std::string, N>>& rows) {
    std::array<std::size_t, N> widths{};
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < N; ++i) widths[i] = std::max(widths[i], width(row[i]));
    }
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < N; ++i) {
            line += row[i] + std::string(widths[i] - width(row[i]) + 2, ' ');
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
}

/// Keeps the members of an object in the order in which they were added.
using json_value = nlohmann::ordered_json;

/// One line without white space and without a line break. What is no valid UTF-8 becomes U+FFFD.
/// Characters that `is_shown` rejects are escaped.
std::string json_text(const json_value& value);

}  // namespace redlock::tool

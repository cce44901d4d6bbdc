// Durations as people write them on a command line.
// SPDX-License-Identifier: MIT
#include "tools/duration.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>

namespace redlock::tool {

namespace {

struct unit {
    std::string_view name;
    std::int64_t ms;
};
constexpr std::array<unit, 4> units{{{"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

}  // namespace

std::string parse_duration(std::string_view text, std::chrono::milliseconds& out) {
    std::int64_t count = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, count);
    const std::string_view name(rest, static_cast<std::size_t>(end - rest));
    if (problem == std::errc::result_out_of_range) return quoted(text) + " is too long";
    if (problem != std::errc{} || count < 0) {
        return quoted(text) +
               " is no duration: write a whole number and a unit, such as 500ms, "
               "10s or 5m";
    }
    if (name.empty()) {
        const std::string number(text);
        return quoted(text) + " has no unit: write " + number + "ms, " + number + "s or " + number +
               "m";
    }
    for (const unit& u : units) {
        if (name != u.name) continue;
        // What is counted in nanoseconds later must fit there, too.
        constexpr auto longest = std::numeric_limits<std::int64_t>::max() / 1'000'000 / 4;
        if (count > longest / u.ms) return quoted(text) + " is too long";
        out = std::chrono::milliseconds(count * u.ms);
        return {};
    }
    return quoted(text) + " has an unknown unit: ms, s, m and h are known";
}

std::string format_duration(std::chrono::milliseconds span) {
    if (span.count() == 0) return "0ms";
    for (const unit& u : units) {
        if (span.count() % u.ms == 0)
            return std::to_string(span.count() / u.ms) + std::string(u.name);
    }
    return {};
}

}  // namespace redlock::tool

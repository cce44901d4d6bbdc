// Durations as people write them on a command line.
// SPDX-License-Identifier: MIT
#include "tools/duration.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace redlock::tool {

namespace {

struct unit {
    std::string_view name;
    std::int64_t ms;
};
constexpr std::array<unit, 4> units{{{"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};

// What is counted in nanoseconds later must fit there, too.
constexpr std::int64_t longest_ms = std::numeric_limits<std::int64_t>::max() / 1'000'000 / 4;

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

constexpr const char* no_duration =
    "is no duration: write numbers with units, such as 500ms, 1.5s, 10s or 1m30s";
constexpr const char* without_unit = "has no unit";
constexpr const char* duration_too_long = "is too long";

std::string_view take(std::string_view& from, std::size_t size) {
    size = std::min(size, from.size());
    const auto taken = from.substr(0, size);
    from.remove_prefix(size);
    return taken;
}

void skip_blanks(std::string_view& text) { take(text, text.find_first_not_of(" \t")); }

std::string_view take_digits(std::string_view& from) {
    return take(from, from.find_first_not_of("0123456789"));
}

// So much of `whole`, which is in ms: the digits behind the point. Nothing where that is no number
// of ms.
std::optional<std::int64_t> part_of(std::int64_t whole, std::string_view digits) {
    digits = digits.substr(0, digits.find_last_not_of('0') + 1);
    if (digits.size() > 9) return std::nullopt;
    std::int64_t scale = 1;
    std::int64_t part = 0;
    for (const char digit : digits) {
        scale *= 10;
        part = part * 10 + (digit - '0');
    }
    if (part * whole % scale != 0) return std::nullopt;
    return part * whole / scale;
}

// One number and its unit, of which there may be several. `wrong` is what is wrong with it.
std::int64_t take_part(std::string_view& rest, std::string& wrong) {
    const std::string_view whole = take_digits(rest);
    const bool has_point = rest.starts_with('.');
    if (has_point) take(rest, 1);
    const std::string_view fraction = has_point ? take_digits(rest) : "";
    skip_blanks(rest);
    const std::string_view name = take(rest, rest.find_first_of(" \t0123456789"));
    skip_blanks(rest);
    const auto of = std::find_if(units.begin(), units.end(),
                                 [&](const unit& u) { return u.name == name; });
    std::int64_t count = 0;
    const auto read = std::from_chars(whole.data(), whole.data() + whole.size(), count);
    if (whole.empty() || (has_point && fraction.empty())) {
        wrong = no_duration;
    } else if (of == units.end()) {
        wrong = name.empty() ? without_unit : "has an unknown unit: ms, s, m and h are known";
    } else if (read.ec != std::errc{} || count > longest_ms / of->ms) {
        wrong = duration_too_long;
    } else if (const auto part = part_of(of->ms, fraction)) {
        return count * of->ms + *part;
    } else {
        wrong = "is no whole number of milliseconds: write it in ms";
    }
    return 0;
}

}  // namespace

std::string parse_duration(std::string_view text, std::chrono::milliseconds& out) {
    std::string_view rest = text;
    skip_blanks(rest);
    std::string wrong = rest.empty() ? no_duration : "";
    std::int64_t sum = 0;
    while (!rest.empty() && wrong.empty()) {
        sum += take_part(rest, wrong);
        if (sum > longest_ms) wrong = duration_too_long;
    }
    if (wrong == without_unit) {
        const std::string number(text.substr(0, text.find_last_not_of(" \t") + 1));
        wrong += ": write " + number + "ms, " + number + "s or " + number + "m";
    }
    if (!wrong.empty()) return quoted(text) + " " + wrong;
    out = std::chrono::milliseconds(sum);
    return {};
}

std::string parse_seconds(std::string_view text, std::chrono::milliseconds& out) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
    if (error != std::errc{} || at != end || !(value >= 0)) {
        return quoted(text) + " is no number of seconds: write 5 or 0.5";
    }
    const double ms = std::ceil(value * 1e3);
    if (!(ms <= static_cast<double>(longest_ms))) return quoted(text) + " " + duration_too_long;
    out = std::chrono::milliseconds(static_cast<std::int64_t>(ms));
    return {};
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

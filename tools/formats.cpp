// How the command writes durations, columns of a terminal and JSON.
// SPDX-License-Identifier: MIT
#include "tools/formats.hpp"

#include <redlock/detail/printable.hpp>

#include <locale.h>
#include <wchar.h>

#include <cassert>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <limits>
#include <optional>

namespace redlock::tool {

namespace {

struct unit {
    std::string_view name;
    std::int64_t ms;
};
constexpr std::array<unit, 5> units{
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};

// What is counted in nanoseconds later must fit there, too.
constexpr std::int64_t longest_ms = std::numeric_limits<std::int64_t>::max() / 1'000'000 / 4;

std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

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
        wrong = name.empty() ? without_unit : "has an unknown unit: ms, s, m, h and d are known";
    } else if (read.ec != std::errc{} || count > longest_ms / of->ms) {
        wrong = duration_too_long;
    } else if (const auto part = part_of(of->ms, fraction)) {
        return count * of->ms + *part;
    } else {
        wrong = "is no whole number of milliseconds: write it in ms";
    }
    return 0;
}

// By the C library's tables, which belong to a locale: here to the one that each system has.
std::size_t columns_of(std::uint32_t point) noexcept {
    static const locale_t unicode = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    if (unicode == nullptr) return 1;
    const locale_t before = ::uselocale(unicode);
    const int columns = ::wcwidth(static_cast<wchar_t>(point));
    ::uselocale(before);
    return columns < 0 ? 1 : static_cast<std::size_t>(columns);
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
    if (!wrong.empty()) return in_quotes(text) + " " + wrong;
    out = std::chrono::milliseconds(sum);
    return {};
}

std::string parse_seconds(std::string_view text, std::chrono::milliseconds& out) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
    if (error != std::errc{} || at != end || !(value >= 0)) {
        return in_quotes(text) + " is no number of seconds: write 5 or 0.5";
    }
    const double ms = std::ceil(value * 1e3);
    if (!(ms <= static_cast<double>(longest_ms))) return in_quotes(text) + " " + duration_too_long;
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

std::string seconds_text(std::chrono::milliseconds span) {
    char text[40];
    std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(span.count()) / 1e3);
    return text;
}

std::string utc_text(std::chrono::system_clock::time_point at) {
    const auto ms = std::chrono::floor<std::chrono::milliseconds>(at.time_since_epoch());
    const std::time_t seconds = std::chrono::system_clock::to_time_t(at);
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    char day[40];
    std::strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
    char text[60];
    std::snprintf(text, sizeof text, "%s.%03dZ", day, static_cast<int>(ms.count() % 1'000));
    return text;
}

std::size_t width(std::string_view text) noexcept {
    std::size_t columns = 0;
    while (!text.empty()) {
        const auto c = detail::first_character(text);
        columns += c.length == 0 ? 1 : columns_of(c.point);
        text.remove_prefix(std::max<std::size_t>(c.length, 1));
    }
    return columns;
}

fitting fit(std::string_view raw, std::size_t columns) {
    fitting out;
    while (!raw.empty()) {
        const std::size_t length = std::max<std::size_t>(detail::first_character(raw).length, 1);
        const std::string one = detail::printable(raw.substr(0, length));
        const std::size_t more = width(one);
        if (out.width + more > columns) break;
        out.text += one;
        out.width += more;
        raw.remove_prefix(length);
    }
    return out;
}

// The library escapes only what JSON requires, or all that is not ASCII.
std::string json_text(const json_value& value) {
    const std::string raw = value.dump(-1, ' ', false, json_value::error_handler_t::replace);
    std::string out;
    for (std::string_view rest = raw; !rest.empty();) {
        const auto c = detail::first_character(rest);
        assert(c.length != 0);
        if (detail::is_shown(c.point)) {
            out += rest.substr(0, c.length);
        } else {
            detail::append_escaped(out, c.point);
        }
        rest.remove_prefix(c.length);
    }
    return out;
}

}  // namespace redlock::tool

// The answers to TIME and PTTL.
// SPDX-License-Identifier: MIT
#include "wire/time.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace redlock::wire {

std::optional<std::int64_t> read_time(const resp::reply& reply) {
    std::int64_t seconds = 0;
    std::int64_t us = 0;
    const auto number = [](std::string_view text, std::int64_t& to) {
        const auto end = text.data() + text.size();
        return !text.empty() && std::from_chars(text.data(), end, to).ptr == end;
    };
    constexpr std::int64_t latest = 9'000'000'000;  // the fences end there, in 2255
    if (!number(reply[0].text(), seconds) || !number(reply[1].text(), us) || seconds < 0 ||
        seconds > latest || us < 0 || us >= 1'000'000) {
        return std::nullopt;
    }
    return seconds * 1'000'000 + us;
}

std::chrono::milliseconds read_pttl(std::int64_t answer) noexcept {
    constexpr std::chrono::milliseconds longest = std::chrono::hours(24 * 366);
    if (answer == -2) return std::chrono::milliseconds(0);
    // Nobody looks that far ahead, and a year can be reckoned with in nanoseconds.
    return std::clamp(std::chrono::milliseconds(answer), std::chrono::milliseconds(-1), longest);
}

}  // namespace redlock::wire

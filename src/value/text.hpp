// Text for people, made of what others sent; knows no operation and no sink.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/vote.hpp>

#include <charconv>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace redlock::text {

/// The most that is shown of one text from elsewhere.
inline constexpr std::size_t longest_shown = 200;

/// The name of an enumerator among those of all, which end with that of `last`.
template <auto last, std::size_t count>
constexpr std::string_view name_in(const std::string_view (&names)[count],
                                   decltype(last) which) noexcept {
    static_assert(count == static_cast<std::size_t>(last) + 1);
    const auto at = static_cast<std::size_t>(which);
    return at < count ? names[at] : "unknown";
}

/// The number that is all of a text.
template <class Number>
std::optional<Number> whole_number(std::string_view text, int base = 10) noexcept {
    Number value{};
    const auto end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value, base);
    return error == std::errc() && at == end ? std::optional(value) : std::nullopt;
}

/// See `detail::printable`.
std::string printable(std::string_view raw, std::size_t limit = longest_shown);

/// As an exception names it: `lock "r"`.
std::string lock_named(std::string_view resource);

/// "0.4 ms", "430 ms", "4.2 s", "43 s", "5 min".
std::string brief(std::chrono::microseconds span);

/// "a, b", and of many "a, b, c and 28 more".
std::string listed(std::span<const std::string> names);

/// What a node answered and why, without its name and its time.
std::string cause(const node_vote& v);
/// Also since when the holder has it, and its note, for a caller that was refused.
std::string full_cause(const node_vote& v);

}  // namespace redlock::text

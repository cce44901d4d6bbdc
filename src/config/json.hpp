// JSON text as a small tree, with everything that is wrong with it; knows no option.
// SPDX-License-Identifier: MIT
#pragma once

#include "config/report.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::config {

enum class json_kind : std::uint8_t { null, boolean, number, string, array, object };

struct json_member;

/// One value. Only what fits its kind is set.
struct json {
    json_kind kind = json_kind::null;
    bool truth = false;
    double number = 0;
    std::string text;
    std::vector<json> items;
    std::vector<json_member> members;  // each name once, in their order

    const json* find(std::string_view name) const;
};

struct json_member {
    std::string name;
    json value;
};

/// Bounds on what is read: a configuration is far below each of them.
inline constexpr std::size_t max_text_bytes = 1024 * 1024;
inline constexpr std::size_t max_depth = 8;
inline constexpr std::size_t max_values = 2'000;

/// The tree of `text`; comments and a byte order mark are skipped. Empty when the text is no JSON
/// or exceeds a bound; names that come twice are reported, and their first value counts.
std::optional<json> parse_json(std::string_view text, report& out);

}  // namespace redlock::config

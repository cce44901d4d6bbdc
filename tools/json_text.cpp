// The text of JSON values, safe for a terminal.
// SPDX-License-Identifier: MIT
#include "tools/json_text.hpp"

#include <redlock/detail/printable.hpp>

#include <cassert>
#include <cstdint>
#include <cstdio>
#include <string_view>

namespace redlock::tool {

namespace {

void add_escape(std::string& to, unsigned unit) {
    char text[16];
    std::snprintf(text, sizeof text, "\\u%04x", unit);
    to += text;
}

void add_escaped(std::string& to, std::uint32_t point) {
    if (point < 0x10000) return add_escape(to, point);
    add_escape(to, 0xd800U + ((point - 0x10000U) >> 10U));
    add_escape(to, 0xdc00U + ((point - 0x10000U) & 0x3ffU));
}

}  // namespace

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
            add_escaped(out, c.point);
        }
        rest.remove_prefix(c.length);
    }
    return out;
}

}  // namespace redlock::tool

// One JSON object as text, written member by member.
// SPDX-License-Identifier: MIT
#include "value/json_line.hpp"

#include <redlock/detail/printable.hpp>

#include <cstdio>
#include <utility>

namespace redlock::text {

namespace {

constexpr std::uint32_t replacement = 0xfffd;

// What has a name of one letter in JSON.
constexpr std::string_view short_escapes = "\b\f\n\r\t";
constexpr std::string_view short_names = "bfnrt";

void add_escape(std::string& to, std::uint32_t unit) {
    const auto at = unit < 0x20 ? short_escapes.find(static_cast<char>(unit)) : short_escapes.npos;
    if (at != short_escapes.npos) {
        to += '\\';
        to += short_names[at];
        return;
    }
    char text[8];
    std::snprintf(text, sizeof text, "\\u%04x", unit & 0xffffU);
    to += text;
}

// Beyond the first 65,536 characters JSON takes two escapes for one.
void add_escaped(std::string& to, std::uint32_t point) {
    if (point < 0x10000) return add_escape(to, point);
    add_escape(to, 0xd800U + ((point - 0x10000U) >> 10U));
    add_escape(to, 0xdc00U + ((point - 0x10000U) & 0x3ffU));
}

}  // namespace

std::string json_text(std::string_view value) {
    std::string to = "\"";
    while (!value.empty()) {
        const auto c = detail::first_character(value);
        const std::uint32_t point = c.length == 0 ? replacement : c.point;
        const std::size_t length = c.length == 0 ? 1 : c.length;
        if (point == '"' || point == '\\') {
            to += '\\';
            to += static_cast<char>(point);
        } else if (c.length != 0 && detail::is_shown(point)) {
            to += value.substr(0, length);
        } else {
            add_escaped(to, point);
        }
        value.remove_prefix(length);
    }
    return to += '"';
}

void json_object::add(std::string_view name, std::string_view value) {
    add_raw(name, json_text(value));
}

void json_object::add(std::string_view name, std::int64_t value) {
    add_raw(name, std::to_string(value));
}

void json_object::add_raw(std::string_view name, std::string_view value) {
    text_ += text_.empty() ? "{\"" : ",\"";
    text_.append(name).append("\":").append(value);
}

std::string json_object::close() {
    return text_.empty() ? "{}" : std::exchange(text_, {}) + '}';
}

}  // namespace redlock::text

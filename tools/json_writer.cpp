// JSON text, written piece by piece.
// SPDX-License-Identifier: MIT
#include "tools/json_writer.hpp"

#include <redlock/detail/printable.hpp>

#include <cstdio>

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

json_writer& json_writer::open(char bracket) {
    separate();
    text_ += bracket;
    needs_comma_ = false;
    return *this;
}

json_writer& json_writer::close(char bracket) {
    text_ += bracket;
    needs_comma_ = true;
    return *this;
}

void json_writer::separate() {
    if (needs_comma_) text_ += ',';
    needs_comma_ = true;
}

json_writer& json_writer::key(std::string_view name) {
    separate();
    quote(name);
    text_ += ':';
    needs_comma_ = false;
    return *this;
}

json_writer& json_writer::string(std::string_view text) {
    separate();
    quote(text);
    return *this;
}

json_writer& json_writer::number(std::int64_t value) {
    separate();
    text_ += std::to_string(value);
    return *this;
}

json_writer& json_writer::number_unsigned(std::uint64_t value) {
    separate();
    text_ += std::to_string(value);
    return *this;
}

json_writer& json_writer::null() {
    separate();
    text_ += "null";
    return *this;
}

json_writer& json_writer::boolean(bool value) {
    separate();
    text_ += value ? "true" : "false";
    return *this;
}

void json_writer::quote(std::string_view text) {
    text_ += '"';
    while (!text.empty()) {
        const auto c = detail::first_character(text);
        if (c.length == 0) {
            add_escape(text_, 0xfffd);
        } else if (c.point == '"' || c.point == '\\') {
            text_ += '\\';
            text_ += text.front();
        } else if (!detail::is_shown(c.point)) {
            add_escaped(text_, c.point);
        } else {
            text_ += text.substr(0, c.length);
        }
        text.remove_prefix(c.length == 0 ? 1 : c.length);
    }
    text_ += '"';
}

}  // namespace redlock::tool

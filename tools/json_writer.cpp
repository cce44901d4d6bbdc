// JSON text, written piece by piece.
// SPDX-License-Identifier: MIT
#include "tools/json_writer.hpp"

#include <cstddef>
#include <cstdio>

namespace redlock::tool {

namespace {

// Length of the UTF-8 character that `s` begins with; 0 when it begins with none (RFC 3629).
std::size_t utf8_length(std::string_view s) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
    const unsigned char first = byte(0);
    if (first < 0x80) return 1;
    if (first < 0xc2 || first > 0xf4) return 0;
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (s.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0U) != 0x80U) return 0;
    }
    const unsigned char second = byte(1);
    const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    const bool surrogate = first == 0xed && second >= 0xa0;
    const bool too_high = first == 0xf4 && second >= 0x90;
    return overlong || surrogate || too_high ? 0 : length;
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

json_writer& json_writer::boolean(bool value) {
    separate();
    text_ += value ? "true" : "false";
    return *this;
}

void json_writer::quote(std::string_view text) {
    text_ += '"';
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const char c = text.front();
        if (length == 0) {
            text_ += "\\ufffd";
        } else if (c == '"' || c == '\\') {
            text_ += '\\';
            text_ += c;
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
            text_ += escape;
        } else {
            text_ += text.substr(0, length);
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    text_ += '"';
}

}  // namespace redlock::tool

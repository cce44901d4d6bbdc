// Which characters of an untrusted text may be shown, and the text with all others escaped; and how
// many of a list. Knows no operation and no sink.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace redlock::detail {

/// The UTF-8 character (RFC 3629) that a text begins with; length 0 if it begins with none.
struct utf8_character {
    std::size_t length = 0;
    std::uint32_t point = 0;
};

constexpr utf8_character first_character(std::string_view s) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
    if (byte(0) < 0x80) return {1, byte(0)};
    const std::size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
    if (byte(0) < 0xc2 || byte(0) > 0xf4 || s.size() < length) return {};
    std::uint32_t point = byte(0) & (0x7fU >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0U) != 0x80U) return {};
        point = (point << 6U) | (byte(i) & 0x3fU);
    }
    const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
    const bool impossible = (point >= 0xd800 && point <= 0xdfff) || point > 0x10ffff;
    return overlong || impossible ? utf8_character{} : utf8_character{length, point};
}

/// False for control characters, which a terminal would execute, and for characters that have no
/// width or reverse the direction of the text, which would mislead the reader.
constexpr bool is_shown(std::uint32_t point) noexcept {
    const auto within = [point](std::uint32_t low, std::uint32_t high) {
        return point >= low && point <= high;
    };
    return !(within(0, 0x1f) || within(0x7f, 0x9f) || point == 0xad || point == 0x61c ||
             point == 0x180e || within(0x200b, 0x200f) || within(0x2028, 0x202e) ||
             within(0x2060, 0x206f) || point == 0xfeff || within(0xfff9, 0xfffb) ||
             within(0xe0000, 0xe007f));
}

inline constexpr std::string_view hex_digits = "0123456789abcdef";

/// `raw` on one line: characters that may be shown stay, every other byte becomes \xNN, and "..."
/// replaces input beyond `limit` bytes.
inline std::string printable(std::string_view raw, std::size_t limit = std::string_view::npos) {
    std::string out;
    std::size_t i = 0;
    while (i < raw.size()) {
        const utf8_character c = first_character(raw.substr(i));
        const bool shown = c.length != 0 && is_shown(c.point);
        const std::size_t length = shown ? c.length : 1;
        if (length > limit - i) return out + "...";
        if (shown) {
            out += raw.substr(i, length);
        } else {
            const auto byte = static_cast<unsigned char>(raw[i]);
            out += {'\\', 'x', hex_digits[byte >> 4U], hex_digits[byte & 0xfU]};
        }
        i += length;
    }
    return out;
}

/// How many of a list a sentence names: all of up to five; of more the first three, before "and 28
/// more".
constexpr std::size_t shown_of(std::size_t count) noexcept { return count <= 5 ? count : 3; }

/// Appends a character as JSON escapes it, by four hex digits.
inline void append_escaped(std::string& to, std::uint32_t point) {
    if (point >= 0x10000) {  // beyond the first 65,536 characters JSON takes two escapes for one
        append_escaped(to, 0xd800U + ((point - 0x10000U) >> 10U));
        point = 0xdc00U + ((point - 0x10000U) & 0x3ffU);
    }
    to += "\\u";
    for (const unsigned shift : {12U, 8U, 4U, 0U}) to += hex_digits[(point >> shift) & 0xfU];
}

}  // namespace redlock::detail

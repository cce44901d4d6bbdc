// How wide a text is on a terminal, and as much of it as fits.
// SPDX-License-Identifier: MIT
#include "tools/columns.hpp"

#include <redlock/detail/printable.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace redlock::tool {

namespace {

struct range {
    std::uint32_t low;
    std::uint32_t high;
};

// The blocks of Unicode in which (nearly) all characters are so. The C library's `wcwidth` knows
// them one by one, but only in a locale that the user may not have.
constexpr range wide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x2e80, 0x303e},
    {0x3041, 0x4dbf},   {0x4e00, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff01, 0xff60},   {0xffe0, 0xffe6},
    {0x16fe0, 0x18cff}, {0x1b000, 0x1b2ff}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff},
    {0x1f900, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd}};
constexpr range combining[] = {
    {0x300, 0x36f},     {0x483, 0x489},     {0x591, 0x5bd},     {0x610, 0x61a},
    {0x64b, 0x65f},     {0x1160, 0x11ff},   {0x1ab0, 0x1aff},   {0x1dc0, 0x1dff},
    {0x20d0, 0x20ff},   {0x302a, 0x302d},   {0x3099, 0x309a},   {0xfe00, 0xfe0f},
    {0xfe20, 0xfe2f},   {0xe0100, 0xe01ef}};

template <std::size_t N>
bool is_in(const range (&ranges)[N], std::uint32_t point) noexcept {
    return std::any_of(std::begin(ranges), std::end(ranges), [point](const range& r) {
        return point >= r.low && point <= r.high;
    });
}

std::size_t columns_of(std::uint32_t point) noexcept {
    if (is_in(combining, point)) return 0;
    return is_in(wide, point) ? 2 : 1;
}

}  // namespace

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

}  // namespace redlock::tool

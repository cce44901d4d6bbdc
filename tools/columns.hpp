// How wide a text is on a terminal, and as much of it as fits; knows no terminal.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace redlock::tool {

/// How many columns a text takes that `shown` made: two for a wide character, as most of East Asia's
/// are, none for one that combines with the character before it, one for every other.
std::size_t width(std::string_view text) noexcept;

struct fitting {
    std::string text;
    std::size_t width = 0;
};

/// As many characters of `raw` as take `columns` at most, escaped as `printable` does: no character
/// and no escape is cut in two.
fitting fit(std::string_view raw, std::size_t columns);

}  // namespace redlock::tool

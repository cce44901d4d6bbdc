// How many of a list a sentence names; knows no list.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace redlock::detail {

/// All of up to five; of more the first three, before "and 28 more".
constexpr std::size_t shown_of(std::size_t count) noexcept { return count <= 5 ? count : 3; }

}  // namespace redlock::detail

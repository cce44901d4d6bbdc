// Memory that operations of a kind use again and again.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/detail/recycling.hpp>

#include <string>

namespace redlock::detail {

using recycled_string = std::basic_string<char, std::char_traits<char>, recycling_memory<char>>;

}  // namespace redlock::detail

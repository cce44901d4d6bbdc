// The manual page redlock(1), from the outline of the command; knows no command by name.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/outline.hpp"

#include <string>

namespace redlock::tool {

/// In the man macros of roff.
std::string manual_page(const outline& of, const std::string& version);

}  // namespace redlock::tool

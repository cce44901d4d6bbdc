// The help of the command and of each of its parts, from its outline; knows no command by name.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/outline.hpp"

#include <string>

namespace redlock::tool {

/// Plain text of 80 columns. `command`: the name of one; empty: of all.
std::string help_page(const outline& of, const std::string& command);

}  // namespace redlock::tool

// What a shell needs to complete the command's words, from its outline; knows no command by name.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/help.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace redlock::tool {

/// Whose scripts `completion_script` writes.
std::vector<std::string> completing_shells();

/// To be read by that shell, which is one of `completing_shells`.
std::string completion_script(const outline& of, std::string_view shell);

}  // namespace redlock::tool

// How the command speaks to whoever started it; knows no operation.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace redlock::tool {

/// `text` with every "://user:password@" made "://***@": arguments end up in messages about them.
std::string redacted(std::string_view text);

/// One line on standard error, in one write, without passwords. Line breaks become spaces.
void complain(std::string_view what);

/// Writes to standard output; false when that failed, which was complained about.
bool print(std::string_view text);

}  // namespace redlock::tool

// Where a token is kept between two commands: a file, standard input, or a variable.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

namespace redlock::tool {

/// From `file`, if it is named ("-" is standard input), else from REDLOCK_TOKEN, else from standard
/// input. Complains where there is none.
std::optional<std::string> read_token(const std::string& file);

/// Replaces `file` as a whole; only its owner can read it. Complains and returns false where that
/// fails.
bool write_token(const std::string& file, const std::string& token);

}  // namespace redlock::tool

// The scripts by which shells complete the command's words: each asks the command for them.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace redlock::tool {

/// The first word of a call that asks for candidates. The words that follow are those of the line
/// that is completed, without the program, up to the one at the cursor, which may be empty. What is
/// printed is one candidate a line, behind a tab what it means; or one line alone:
///
/// - ":files PREFIX": names of files complete the word, behind PREFIX, which may be empty;
/// - ":command N": the shell completes another command, which begins N words behind the program.
inline constexpr const char* asks_for_candidates = "__complete";

/// Whose scripts `completion_script` returns.
std::vector<std::string> completing_shells();

/// To be read by that shell, which is one of `completing_shells`.
std::string completion_script(const std::string& shell);

}  // namespace redlock::tool

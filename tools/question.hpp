// A question to the operator before something that can't be undone; knows no command.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace redlock::tool {

/// Asks on the terminal whether to go on. Where there is none, complains that `command` asks before
/// it does anything, and that a script has to say --yes, `condition` given. `what`: what will happen.
bool is_confirmed(const std::string& command, const std::string& condition,
                  const std::string& what);

}  // namespace redlock::tool

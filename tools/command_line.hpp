// Reads the command line of redlock into the work of its command.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/signals.hpp"

#include <functional>
#include <string>

namespace redlock::tool {

struct command_line {
    /// What the command does with the signals that redlock was started with; returns the exit
    /// status. Empty where `wrong` is not.
    std::function<int(const inherited_signals&)> work;
    std::string wrong{};   ///< What was not understood, and what would be right.
    bool in_json = false;  ///< `wrong` is to be said in JSON.
};

command_line parse_command_line(int argc, const char* const* argv);

}  // namespace redlock::tool

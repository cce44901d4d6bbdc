// What the command understands, as its help says it: the one source of manual and completion; knows
// neither format.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace redlock::tool {

struct option_outline {
    std::vector<std::string> names;  ///< With their dashes, the short one first.
    std::string value;               ///< What it takes, such as FILE; empty: nothing.
    std::string text;
};

struct argument_outline {
    std::string name;
    std::string text;
    std::vector<std::string> choices{};  ///< The only words that it takes; empty: any.
};

struct command_outline {
    std::string name;
    std::string text;   ///< One line.
    std::string usage;  ///< The words of a call.
    std::vector<option_outline> options;
    std::vector<argument_outline> arguments;
    std::string footer;           ///< Paragraphs, with a blank line between them.
    bool runs_command = false;    ///< Another command follows after "--".
};

struct outline {
    command_outline whole;  ///< Its options may stand anywhere.
    std::vector<command_outline> commands;
};

}  // namespace redlock::tool

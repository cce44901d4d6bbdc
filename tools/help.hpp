// What the command understands, as an outline, and the help and manual page that are made of it.
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

struct example_outline {
    std::string call;  ///< As typed into a shell; each parses.
    std::string text;  ///< What it does, a sentence.
};

struct command_outline {
    std::string name;
    std::string text;   ///< One line.
    std::string usage;  ///< The words of a call.
    std::vector<option_outline> options;
    std::vector<argument_outline> arguments;
    std::string footer;           ///< Paragraphs, with a blank line between them.
    bool runs_command = false;    ///< Another command follows after "--".
    std::vector<example_outline> examples{};
    std::string json{};           ///< What it prints with --json; empty: text as without.
};

/// A variable, a file or an exit status, and what it means.
struct term_outline {
    std::string name;
    std::string text;
};

struct outline {
    command_outline whole;  ///< Its options may stand anywhere.
    std::vector<command_outline> commands;
    std::string description{};  ///< Paragraphs, as a footer.
    std::string nodes{};        ///< Where the nodes come from, a paragraph.
    std::vector<term_outline> files{};
    std::vector<term_outline> environment{};
    std::vector<term_outline> statuses{};
    std::vector<std::string> see_also{};
};

/// Adds the examples, what `--json` prints, and the variables, files and exit statuses.
void add_guide(outline& to);

/// Plain text of 80 columns. `command`: the name of one; empty: of all.
std::string help_page(const outline& of, const std::string& command);

/// In the man macros of roff.
std::string manual_page(const outline& of, const std::string& version);

}  // namespace redlock::tool

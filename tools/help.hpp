// The help of the command and of each of its parts, and its manual page: made of what CLI11 knows
// of the options, and of a guide with examples, variables, files and exit statuses.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/App.hpp>

#include <string>
#include <vector>

namespace redlock::tool {

/// Plain text of 80 columns, which CLI11's own formatter does not fill. `command`: the name of one;
/// else of all.
std::string help_page(const CLI::App& whole, const std::string& command);

/// In the man macros of roff.
std::string manual_page(const CLI::App& whole, const std::string& version);

/// Null where there is none of this name.
const CLI::App* find_command(const CLI::App& whole, const std::string& name);
/// With their dashes, the short ones first.
std::vector<std::string> names_of(const CLI::Option& option);
/// What it takes, such as FILE; empty: nothing.
std::string value_of(const CLI::Option& option);

}  // namespace redlock::tool

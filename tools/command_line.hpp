// Reads the command line of redlock into a request; runs no request.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/commands.hpp"

#include <string>
#include <variant>

namespace redlock::tool {

/// To be printed on standard output as it is.
struct text_request {
    std::string text;
};
/// Not understood: what is wrong and what would be right. `in_json` where it is to be said in JSON.
struct usage_error {
    std::string what;
    bool in_json = false;
};

using command_line =
    std::variant<usage_error, text_request, run_request, acquire_request, extend_request,
                 release_request, revoke_request, inspect_request, init_request, commit_request,
                 bench_request,
                 doctor_request, list_request, watch_request>;

command_line parse_command_line(int argc, const char* const* argv);

}  // namespace redlock::tool

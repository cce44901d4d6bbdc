// `redlock run`: a command that runs only while a lease is held; knows no command line.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/nodes.hpp"
#include "tools/signals.hpp"
#include "tools/terms.hpp"

#include <string>
#include <vector>

namespace redlock::tool {

struct run_request {
    node_source nodes;
    lease_request lease;
    std::vector<std::string> resources;  // held at once
    bool json = false;           // reports on standard error in JSON, one object a line
    std::string metrics_file;    // gets the metrics of the client; empty: none does
    int contended_status = 120;  // the exit status in place of `contended`
    std::vector<std::string> command;
};

/// Acquires, runs the command, releases. Returns the exit status (see `exit_status.hpp`).
int run(const run_request& request, const inherited_signals& given);

}  // namespace redlock::tool

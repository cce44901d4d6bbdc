// `redlock run`: a command that runs only while a lease is held; knows no command line.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/nodes.hpp"
#include "tools/signals.hpp"
#include "tools/terms.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace redlock::tool {

struct run_request {
    node_source nodes;
    lease_request lease;
    std::vector<std::string> resources;  // held at once
    bool json = false;           // reports on standard error in JSON, one object a line
    std::string metrics_file;    // gets the metrics of the client; empty: none does
    std::string events_file;     // gets the events of the client; empty: none does
    int contended_status = 120;  // the exit status in place of `contended`
    bool quiet = false;          // says nothing of a lock that another holder has
    std::optional<std::chrono::milliseconds> watchdog{};  // the longest time without a sign of CMD
    std::vector<std::string> command;
};

/// Acquires, runs the command, releases. Returns the exit status (see `exit_status.hpp`).
int run(const run_request& request, const inherited_signals& given);

}  // namespace redlock::tool

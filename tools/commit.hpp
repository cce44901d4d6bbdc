// `redlock commit`: an operator ends a change of the list of nodes; knows no lease.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/nodes.hpp"

#include <chrono>
#include <optional>

namespace redlock::tool {

struct commit_request {
    node_source nodes;
    bool yes = false;  ///< Do not ask.
    bool despite_old_programs = false;
    bool gives_up = false;
    std::optional<std::chrono::milliseconds> wait{};
    bool json = false;
};

/// The exit status: 0 when every node is of the list that stands; 1 when some have still to follow.
int commit(const commit_request& request);

}  // namespace redlock::tool

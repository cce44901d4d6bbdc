// `redlock init`: an operator declares the nodes new; knows no lease.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/nodes.hpp"

namespace redlock::tool {

struct init_request {
    node_source nodes;
    bool yes = false;  ///< Do not ask.
    bool json = false;
};

/// The exit status: 0 when every node took it.
int init(const init_request& request);

}  // namespace redlock::tool

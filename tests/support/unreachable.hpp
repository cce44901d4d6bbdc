// Options of a client whose only node can't be reached; knows no client.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/options.hpp>

namespace redlock::testing {

inline client_options unreachable() {
    client_options o;
    o.nodes.resize(1);
    o.nodes[0].unix_socket = "/nonexistent/redlock.sock";
    o.fencing = false;
    return o;
}

}  // namespace redlock::testing

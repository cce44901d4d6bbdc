// `redlock list` and `redlock watch`: who holds what, once or at each change; knows no lease.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/nodes.hpp"

#include <string>
#include <vector>

namespace redlock::tool {

struct list_request {
    node_source nodes;
    std::string prefix;
    bool json = false;
};
struct watch_request {
    node_source nodes;
    std::vector<std::string> resources;
    bool json = false;
};

/// The exit status: 0 where a quorum of nodes answered.
int list(const list_request& request);
/// Goes on until a signal ends the program, or standard output takes no more.
int watch(const watch_request& request);

}  // namespace redlock::tool

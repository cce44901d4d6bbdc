// `redlock release --force`: an operator takes a resource from its holders; knows no token.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/nodes.hpp"

#include <string>

namespace redlock::tool {

struct revoke_request {
    node_source nodes;
    std::string resource;
    bool yes = false;  ///< Do not ask.
    bool json = false;
};

/// The exit status: 0 also where nobody held it.
int revoke(const revoke_request& request);

}  // namespace redlock::tool

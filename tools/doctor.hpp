// `redlock doctor`: what is wrong with the nodes, and what to do about it; knows no lease.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/nodes.hpp"

namespace redlock::tool {

struct doctor_request {
    node_source nodes;
    bool json = false;
};

/// The exit status: 0 where all is well, 1 with warnings, 2 with errors.
int doctor(const doctor_request& request);

}  // namespace redlock::tool

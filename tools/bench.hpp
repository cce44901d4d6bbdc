// `redlock bench`: how fast locks are on the operator's own nodes; judges nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/nodes.hpp"

#include <chrono>
#include <cstddef>

namespace redlock::tool {

struct bench_request {
    node_source nodes;
    std::chrono::milliseconds each{3'000};  ///< How long each of the three parts runs.
    std::size_t workers = 64;               ///< That cycle at once in the second part.
    bool yes = false;                       ///< Do not ask.
    bool json = false;
};

/// The exit status: 0 when all three parts were measured.
int bench(const bench_request& request);

}  // namespace redlock::tool

// The name under which a node's record keeps the set of nodes of one list; knows no record.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/options.hpp>

#include <string>

namespace redlock::wire {

/// The number of nodes, ":" and a fingerprint: of `client_options::cluster` where that is given,
/// else of the sorted names of the nodes.
std::string node_set(const client_options& options);

}  // namespace redlock::wire

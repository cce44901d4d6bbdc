// What the nodes' keys together say about a resource; asks nobody.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/quorum.hpp"

#include <redlock/resource_state.hpp>

#include <span>
#include <string>

namespace redlock::core {

/// Fills `held`, `kept`, `owner`, `valid_for`, `fence`, the two quorums and `decided` from `state.nodes`. `values`
/// are the whole values of the keys, one per node, since abbreviated ones may collide; `owner` is
/// the abbreviation that stands in the winning nodes.
void read_quorum(resource_state& state, std::span<const std::string> values,
                 const node_lists& lists);

/// Whether the nodes that did not answer, whatever they hold, could not change what `read_quorum`
/// made of the others' answers: there is no other holder, and no other reader.
bool is_conclusive(const resource_state& state, std::span<const std::string> values,
                   const node_lists& lists);

}  // namespace redlock::core

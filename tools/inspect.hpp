// `redlock inspect`: which owner holds a resource, node by node; knows no lease.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/nodes.hpp"

#include <redlock/resource_state.hpp>

#include <string>

namespace redlock::tool {

struct inspect_request {
    node_source nodes;
    std::string resource;
    bool json = false;
};

/// The exit status: 0 when a quorum of nodes answered.
int inspect(const inspect_request& request);

/// Who has it, if it is held: "held by ...", or "shared by ..." and some of the readers.
std::string holders(const resource_state& state);
/// "2 of 3 slots are held"; empty where no program names slots and none is held.
std::string slots_held(const resource_state& state);
/// One object on one line.
std::string to_json(const resource_state& state);
/// A table for people to read.
std::string to_table(const resource_state& state);
/// Which nodes did not answer, where fewer than a quorum did.
void complain_of_silence(const resource_state& state);

}  // namespace redlock::tool

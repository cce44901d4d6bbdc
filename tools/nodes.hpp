// Where the command finds its nodes.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/formats.hpp"

#include <redlock/config.hpp>
#include <redlock/vote.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace redlock::tool {

/// `--node`, else `--config`, else where `configuration_from_environment` looks.
struct node_source {
    std::vector<std::string> uris;
    std::string config_file;
    tls_options tls{};     ///< Files for the nodes of `uris` that have TLS.
    bool verbose = false;  ///< Says also where it was found, and what is doubtful, as doctor does.
};

/// Complains about everything that is wrong, and throws an `ending`, when the nodes can't be used,
/// or one of `resources` can't be a lock's. The client's name is set in what is returned:
/// "host:pid" by default.
configuration find_nodes(const node_source& from, const std::vector<std::string>& resources = {});

/// Whether the list changes: some nodes are marked.
bool is_joint(const client_options& client);

/// The names of the nodes, for people; without those with this mark, if it is one.
std::string names_of(const client_options& client, list_change without = list_change::none);

/// The place of the node of that name in the list; nothing where there is none.
std::optional<std::size_t> place_of(const std::string& name, const client_options& client);

/// Which of these nodes did not grant it, and why; empty where all did.
std::string failures_in(const std::vector<node_vote>& votes);
/// A list with the name of each, whether it granted, as the member `done`, and its error.
json_value json_of(const std::vector<node_vote>& votes, const char* done);

}  // namespace redlock::tool

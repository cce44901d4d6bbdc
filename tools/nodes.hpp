// Where the command finds its nodes; knows no operation on them.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/config.hpp>

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

/// Complains about everything that is wrong; empty when the nodes can't be used. The client's name
/// is set in what is returned: "host:pid" by default.
std::optional<configuration> find_nodes(const node_source& from);

}  // namespace redlock::tool

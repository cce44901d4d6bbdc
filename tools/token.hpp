// `redlock acquire`, `extend` and `release`: a lock across the steps of a script.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/nodes.hpp"
#include "tools/signals.hpp"
#include "tools/terms.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace redlock::tool {

struct acquire_request {
    node_source nodes;
    lease_request lease;
    std::vector<std::string> resources;  // held at once
    std::string token_file;              // gets the token; empty: standard output does
    bool json = false;
    int contended_status = 120;
};
struct extend_request {
    node_source nodes;
    std::optional<std::chrono::milliseconds> ttl;
    std::string token_file;  // has the token; empty: REDLOCK_TOKEN or standard input has it
    bool json = false;
};
struct release_request {
    node_source nodes;
    std::string token_file;
    bool json = false;
    // What the command line says of --force, which makes it a `revoke_request`.
    bool force = false;
    bool yes = false;
    std::string resource;
};

/// Each returns the exit status. None writes the token anywhere but to where it was asked for.
int acquire(const acquire_request& request, const inherited_signals& given);
int extend(const extend_request& request);
int release(const release_request& request);

}  // namespace redlock::tool

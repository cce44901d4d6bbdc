// What an acquisition's ttl comes to under a client's options; knows no file format and no node.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/options.hpp>

#include "core/quorum.hpp"

#include <algorithm>
#include <chrono>

namespace redlock {

/// The ttl that is asked of the nodes.
inline std::chrono::milliseconds effective_ttl(const client_options& client,
                                               std::chrono::milliseconds asked) {
    using namespace std::chrono_literals;
    return asked == 0ms ? std::min<std::chrono::milliseconds>(10s, client.ttl_max) : asked;
}

/// What is left of `ttl` after its drift allowance: no lease is valid for longer.
inline core::duration longest_validity(const client_options& client, core::duration ttl) {
    return ttl - core::drift_policy{client.drift_factor, client.drift_min}.allowance(ttl);
}

}  // namespace redlock

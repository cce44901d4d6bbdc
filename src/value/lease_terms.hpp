// What a client's options come to for its leases; knows no file format and no node.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/options.hpp>

#include "value/quorum.hpp"

#include <algorithm>
#include <chrono>

namespace redlock {

/// The longest ttl_max that a client may have.
inline constexpr std::chrono::milliseconds longest_ttl = std::chrono::hours(24);

/// The ttl that is asked of the nodes.
inline std::chrono::milliseconds effective_ttl(const client_options& client,
                                               std::chrono::milliseconds asked) {
    using namespace std::chrono_literals;
    return asked == 0ms ? default_ttl(client) : asked;
}

/// What is left of `ttl` after its drift allowance: no lease is valid for longer.
inline duration longest_validity(const client_options& client, duration ttl) {
    return ttl - drift_policy{client.drift_factor, client.drift_min}.allowance(ttl);
}

/// For how long nodes can keep a key by our clock, counted from the grant: the ttl that they are asked
/// for is longer by the drift allowance, and by what may pass between the asking and the grant.
inline std::chrono::milliseconds longest_kept(std::chrono::milliseconds ttl_max,
                                              drift_policy drift) {
    using namespace std::chrono_literals;
    const duration way = std::max<duration>(5ms, ttl_max / 50);
    return std::chrono::floor<std::chrono::milliseconds>(ttl_max - drift.allowance(ttl_max) - way);
}

/// For how long a node is asked to keep a key that has to stay in the way of others for `min_hold`
/// by our clock, from a grant that comes up to `later` after the node is asked; never for longer
/// than the quarantine of a node that forgets it.
inline duration longest_stay(const client_options& client, std::chrono::milliseconds min_hold,
                             duration later = {}) {
    using std::chrono::milliseconds;
    if (min_hold == milliseconds(0)) return {};
    const drift_policy drift{client.drift_factor, client.drift_min};
    const duration stay = later + min_hold + drift.allowance(later + min_hold);
    return std::min<duration>(std::chrono::ceil<milliseconds>(stay), client.ttl_max);
}

/// Whether nodes that may have lost their data are kept from voting. A plain lock names no epoch, so
/// there the guard would see nothing.
inline bool is_guarded(const client_options& client) {
    return client.fencing && client.guard != restart_guard::off;
}

}  // namespace redlock

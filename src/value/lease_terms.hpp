// What a client's options come to for its leases; knows no file format and no node.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/options.hpp>

#include "value/time.hpp"
#include "value/validity.hpp"

#include <algorithm>
#include <chrono>

namespace redlock {

/// The longest ttl_max that a client may have.
inline constexpr std::chrono::milliseconds longest_ttl = std::chrono::hours(24);

/// The ttl that the nodes receive; `requested` is the caller's, 0 for the default.
inline std::chrono::milliseconds effective_ttl(const client_options& client,
                                               std::chrono::milliseconds requested) {
    using namespace std::chrono_literals;
    return requested == 0ms ? default_ttl(client) : requested;
}

/// What is left of `ttl` after its drift allowance: no lease is valid for longer.
inline duration longest_validity(const client_options& client, duration ttl) {
    return ttl - drift_policy{client.drift_factor, client.drift_min}.allowance(ttl);
}

/// For how long nodes can keep a key by our clock, counted from the grant. The ttl in the request
/// is longer by the drift allowance, and by the time that may pass from the request to the grant.
inline std::chrono::milliseconds longest_kept(std::chrono::milliseconds ttl_max,
                                              drift_policy drift) {
    using namespace std::chrono_literals;
    const duration way = std::max<duration>(5ms, ttl_max / 50);
    return std::chrono::floor<std::chrono::milliseconds>(ttl_max - drift.allowance(ttl_max) - way);
}

/// The time for which a request has a node keep a key that must block other clients for `min_hold`
/// by our clock. The grant may come up to `later` after the request. Never longer than the
/// quarantine of a node that forgets the key.
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

// For how long a rate limiter takes a slot, and which grants count; knows no client and no clock.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/quorum.hpp"
#include "value/time.hpp"
#include "value/validity.hpp"

#include <redlock/vote.hpp>

#include <chrono>
#include <span>

namespace redlock::core {

/// A slot that was allowed at one instant must not be allowed again within a period from there.
/// No other client is granted it before its validity ends. So a grant counts only if its validity
/// lasts for a period from the instant at which it is *used*, which is after the answers came, not
/// from that at which the request was sent. The ttl in the request is longer by the time between
/// the two, as the last grants took it. Not thread-safe.
class pacing {
public:
    pacing(std::chrono::milliseconds period, std::chrono::milliseconds longest_ttl,
           drift_policy drift) noexcept
        : period_(period), longest_ttl_(longest_ttl), drift_(drift) {}

    /// The ttl of the next request.
    std::chrono::milliseconds ttl() const noexcept;
    /// Whether a grant whose request had `ttl` counts at `now`. The next ttl is longer where
    /// it came late.
    bool counts(std::chrono::milliseconds ttl, time_point valid_until, time_point now) noexcept;
    /// The answers took longer than the whole ttl.
    void was_too_late(std::chrono::milliseconds ttl) noexcept { slowest_ = ttl; }

    /// The longest period whose slots the nodes keep: the ttl has to be longer by the drift
    /// allowance, and by the way to the nodes and back.
    static std::chrono::milliseconds longest_period(std::chrono::milliseconds longest_ttl,
                                                    drift_policy drift) noexcept;

private:
    duration validity(std::chrono::milliseconds ttl) const noexcept {
        return ttl - drift_.allowance(ttl);
    }

    std::chrono::milliseconds period_;
    std::chrono::milliseconds longest_ttl_;
    drift_policy drift_;
    duration slowest_{0};  // of the last grants, from sending to use; halved with each
};

/// When a quorum of nodes will have a free slot, by their votes on a refused try: the quorum-th
/// smallest of the times that they name. `turn`: for a node on which others wait before the caller,
/// and which names none. At least 1 ms, so that nobody tries without a pause.
std::chrono::milliseconds time_until_free(std::span<const node_vote> votes,
                                          const node_lists& nodes, std::chrono::milliseconds turn);

}  // namespace redlock::core

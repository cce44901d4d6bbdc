// What may be left on the nodes of an attempt, or of the lease that it became; knows no key and no
// connection.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/node/fence_source.hpp"
#include "value/node_mask.hpp"
#include "value/time.hpp"

#include <algorithm>
#include <cstdint>

namespace redlock::core {

/// For so many ttls a renewal prolongs the fences: general.lua has the same number.
inline constexpr int fence_renewal_ttls = 6;

struct traces {
    std::uint64_t born = 0;           ///< `disruptions::so_far` before anything of it was sent.
    node_mask nodes{};                ///< That a command which takes keys went to.
    std::uint64_t highest_fence = 0;  ///< That was proposed for it, extensions included; 0: none.
    bool began_elsewhere = false;     ///< Another process sent commands of it, on its connections.
    /// Until then the keys stay in the way of others, whichever program gives them back.
    time_point keep_until{};
    /// By so much that may be too early: another program knows when the lease was granted.
    duration keep_error{};
    /// A program may know the lease by its token, and go on extending it.
    bool is_known_elsewhere = false;
    /// Until then the nodes keep the fences that this process left there.
    time_point fences_until{};

    void note_sent(node_mask to, std::uint64_t fence) noexcept {
        nodes |= to;
        highest_fence = std::max(highest_fence, fence);
    }
    /// `is_out`: its token was given to the caller. A lease from elsewhere came by a token.
    void note_token(bool is_out) noexcept { is_known_elsewhere = began_elsewhere || is_out; }

    /// The nodes got a fence and a key, which they keep for `keys_for` from now on.
    void note_keys(time_point now, duration keys_for) noexcept {
        fences_until = std::max(fences_until, now + std::max(keys_for, most_fence_tolerance));
    }
    /// Whether a renewal, whose keys will live for `keys_for`, has to prolong the fences, too.
    /// Waiters and operators see by the fence since when the lease is held; exclusion does not need
    /// it.
    bool is_fence_due(time_point now, duration keys_for) const noexcept {
        return fences_until < now + keys_for;
    }
    /// The nodes were sent a renewal that prolongs the fences: for so many ttls, if not for longer
    /// than `most`.
    void note_prolonged_fences(time_point now, duration ttl, duration most) noexcept {
        fences_until = std::max(fences_until, now + std::min(fence_renewal_ttls * ttl, most));
    }
    /// Whether the nodes would keep the fences for longer than they are needed once the keys are
    /// gone.
    bool has_long_fences(time_point now) const noexcept {
        return began_elsewhere || fences_until > now + most_fence_tolerance;
    }

    /// For how long the keys have to stay yet; zero where they may go.
    duration to_keep(time_point now) const noexcept {
        return std::max(keep_until - now, duration::zero());
    }
    /// For how long at most, where they are given back.
    duration to_keep_at_most(time_point now) const noexcept {
        return to_keep(now - keep_error);
    }
    /// Whether the keys are given back when the validity that this program knows of is over. A
    /// process that adopted the lease may have prolonged them, and relies on them: they run out by
    /// themselves then.
    bool ends_with_validity() const noexcept { return !is_known_elsewhere; }
};

}  // namespace redlock::core

// What may be left on the nodes of an attempt, or of the lease that it became; knows no key and no
// connection.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/node_mask.hpp"
#include "value/time.hpp"

#include <algorithm>
#include <cstdint>

namespace redlock::core {

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

    void note_sent(node_mask to, std::uint64_t fence) noexcept {
        nodes |= to;
        highest_fence = std::max(highest_fence, fence);
    }
    /// `is_out`: its token was given to the caller. A lease from elsewhere came by a token.
    void note_token(bool is_out) noexcept { is_known_elsewhere = began_elsewhere || is_out; }

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

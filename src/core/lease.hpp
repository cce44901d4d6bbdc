// The life of a lease from grant to loss: its fence, its renewals, and what it left on the nodes.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/clock.hpp"
#include "value/nodes.hpp"

#include <redlock/error.hpp>
#include <redlock/loss.hpp>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdint>
#include <optional>

namespace redlock::core {

/// Renews at a third of the ttl, tries a failed renewal again with a bounded back-off, and reports
/// the loss from its own timer: whatever the network does, before the validity ends.
class renewal {
public:
    struct terms {
        duration ttl{};  ///< Above 0.
        bool renew = true;
        duration max_hold{0};     ///< 0: no cap.
        duration loss_margin{0};  ///< Report the loss this long before the validity ends.
        duration watchdog{0};     ///< Lost after so long without a sign of life; 0: none is needed.
    };
    enum class action : std::uint8_t { none, renew, lost };

    renewal(time_point granted_at, time_point valid_until, terms t) noexcept;

    /// Many leases that are renewed together make the nodes busy for long, and then idle until the
    /// next time. So where a client holds more than `few` leases, `spread` gives each its own place
    /// in the time between two renewals, of 2^64: one renewal comes early, by up to all of that
    /// time, and all later ones when it has passed. Leases whose places are about the same are
    /// renewed at the same instants, in groups of 64 to 128 where places are even: enough to fill a
    /// command. Called after the construction and after each `extended`.
    static constexpr std::uint64_t few = 1024;
    static constexpr std::uint64_t group = 64;
    void spread(std::uint64_t leases, std::uint64_t place) noexcept;
    /// The place of the lease that the client was granted as its `number`th. Leases that were
    /// granted one after the other lie side by side in memory: a group of them has one place.
    /// Multiples of the golden ratio leave no large gaps between the places.
    static constexpr std::uint64_t place_of(std::uint64_t number) noexcept {
        return number / group * 0x9e37'79b9'7f4a'7c15;
    }

    /// The timer rang. `renew`: send one renewal round now and tell how it ended.
    action on_time(time_point now) noexcept;
    /// A round that was sent at `sent` prolonged the lease. `new_ttl` is given for the holder's own
    /// extensions only: a renewal may be sent after such an extension and still carry the old ttl.
    void extended(time_point sent, time_point valid_until,
                  std::optional<duration> new_ttl) noexcept;
    /// The renewal reached no quorum. `random` spreads the retries of many clients: leases of one
    /// round have it in common, and are tried again together.
    action renewal_failed(error_code why, time_point now, std::uint64_t random) noexcept;

    /// The holder gave a sign of life at `at`; before the first one the grant counts. A later call
    /// may name an earlier instant. Called before each `on_time`: where the holder is alive, that
    /// finds nothing to do when the time is over that began at an earlier sign.
    void touched(time_point at) noexcept;

    /// Our own clock stood still for `gap`: every deadline that was set before comes earlier by it.
    void shorten(duration gap) noexcept;

    time_point granted_at() const noexcept { return granted_at_; }
    /// When the latest round that prolonged it was sent, or the one that granted it.
    time_point last_sent() const noexcept { return last_sent_; }
    bool was_prolonged() const noexcept { return last_sent_ != granted_at_; }
    /// When `on_time` wants to be called next.
    time_point deadline() const noexcept;
    time_point valid_until() const noexcept { return valid_until_; }
    /// When the loss is reported if nothing prolongs the lease.
    time_point report_at() const noexcept;
    duration ttl() const noexcept { return terms_.ttl; }
    duration loss_margin() const noexcept { return terms_.loss_margin; }
    bool is_renewing() const noexcept { return renewing_; }
    bool is_lost() const noexcept { return lost_; }
    loss reason() const noexcept { return reason_; }

private:
    duration longest_wait() const noexcept;
    time_point next_renewal() const noexcept;
    bool capped() const noexcept;
    action lose(loss why) noexcept;

    terms terms_;
    time_point granted_at_;
    time_point cap_;  // grant + max_hold; the end of time without one
    time_point valid_until_;  // not after `cap_`
    time_point last_sent_;
    time_point ttl_sent_;   // when the round that set the ttl was sent
    time_point renew_at_;  // the end of time where it is not to be renewed
    time_point stalls_at_;  // without a further sign of life; the end of time where none is needed
    bool renewing_ = false;       // a round is out
    bool failing_ = false;        // no round has prolonged it since one failed
    std::uint32_t failures_ = 0;  // since a round prolonged it
    bool lost_ = false;           // for good
    loss reason_ = loss::expired;
};

/// Beyond it Lua's numbers are no longer exact.
inline constexpr std::uint64_t fence_limit = std::uint64_t{1} << 53;

/// A node that lost a fence refuses all below it once its time is ahead of the fence by so much:
/// for so long it keeps each fence (shared/fence_life.lua has the same number).
inline constexpr duration most_fence_tolerance = std::chrono::seconds(15);

/// How far from node time a fence may lie: a quarter of `ttl_max`, so that what a lease proposed
/// counts as old by the time its key has run out. Not further where `ttl_max` is long: a clock that
/// is wrong by minutes is no better for it, and the fences that it led to would be refused for as
/// long.
constexpr duration fence_tolerance(duration ttl_max) noexcept {
    assert(ttl_max > duration::zero());
    return std::min(ttl_max / 4, most_fence_tolerance);
}

/// What holds for all fenced requests of a command, as of when it is sent.
struct fence_limits {
    duration tolerance{};  ///< `fence_tolerance`.
    duration lift{};       ///< Added to a node's clock; see `fence_floor`.
};

class fence_source {
public:
    /// A fence above every earlier one of this client and above `seen`, and not below node time.
    /// Nothing where that lies more than `tolerance` ahead of node time: there a chain of steps has
    /// outrun the clock, and the nodes would refuse it.
    ///
    /// As high as `raised`, where a rival may have raised the nodes' fences until ours arrives. It
    /// is cut at half of the tolerance, so that two clients that outbid each other don't use it
    /// up.
    std::optional<std::uint64_t> next(std::uint64_t seen, std::int64_t node_time_us,
                                      duration tolerance, std::uint64_t raised = 0) noexcept {
        assert(tolerance >= duration::zero());
        const auto time = static_cast<std::uint64_t>(node_time_us > 0 ? node_time_us : 0);
        const auto ahead = static_cast<std::uint64_t>(
            std::chrono::floor<std::chrono::microseconds>(tolerance).count());
        seen = std::min(seen, fence_limit);
        const std::uint64_t fence =
            std::max({last_ + 1, seen + 1, std::min(raised, time + ahead / 2), time});
        if (fence > time + ahead || fence >= fence_limit) return std::nullopt;
        assert(fence > last_ && fence > seen);
        last_ = fence;
        return fence;
    }

private:
    std::uint64_t last_ = 0;  // below `fence_limit`
};

/// For so many ttls a renewal prolongs the fences, or takes a key again: general.lua has the same
/// number.
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
        assert(keys_for > duration::zero());
        fences_until = std::max(fences_until, now + std::max(keys_for, most_fence_tolerance));
    }
    /// The nodes are sent a renewal whose keys will live for `keys_for`. Returns whether it has to
    /// prolong the fences, too: no node forgets a fence while the lease is held. Waiters and
    /// operators see by it since when, and the next holder's has to be above it. A node that takes
    /// the key again by this renewal keeps the fence no longer than that.
    bool renew_fences(time_point now, duration keys_for) noexcept {
        assert(keys_for > duration::zero());
        const time_point longest = now + fence_renewal_ttls * keys_for;
        const bool is_due = fences_until < now + keys_for;
        fences_until = is_due ? longest : std::min(fences_until, longest);
        return is_due;
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

/// What is known of such a lease when it is taken over.
struct adopted_lease {
    std::uint64_t fence = 0;    ///< By its token, which anybody may have changed; 0: it has none.
    bool is_plausible = false;  ///< A client that goes by the rules can have drawn the fence.
    /// For how long its keys block others, from when the request for the grant went out; zero: not.
    duration stay{};
    std::optional<std::int64_t> node_time_us{};
    duration clock_tolerance{};  ///< How far from cluster time a clock that votes may be.
};

/// Its keys may be on every node, and commands of the other process on their way to it: a release
/// raises the fence above them. A fence that no client can have drawn goes to no node.
///
/// A fence is drawn at cluster time, so it says how much of `stay` is over. That may be wrong by as
/// much as the clocks of two programs may differ: each of those that vote is at most
/// `clock_tolerance` from the cluster time of either program.
traces traces_of_adopted(const adopted_lease& what, std::uint64_t born, node_mask all,
                         time_point now) noexcept;

}  // namespace redlock::core

// One round to prolong a lease; knows neither the lease's history nor what the nodes are sent.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/quorum/tally.hpp"
#include "value/time.hpp"
#include "value/validity.hpp"

#include <redlock/error.hpp>

#include <cstddef>
#include <cstdint>

namespace redlock::core {

/// Prolonged once a quorum said so while the old validity still stood; the new validity counts from
/// the instant at which this round was sent. Otherwise the old validity stands.
///
/// A node on which the key is gone refuses a fence that is not above all that it has seen. Where
/// such nodes could complete the quorum under a higher fence, another round follows, once. But only
/// when it is certain that no quorum denies the lease: otherwise another client may have held the
/// lock in between, under a higher fence, and the lease must not come back.
class extension {
public:
    enum class verdict : std::uint8_t { open, extended, failed, again };

    /// `is_last`: no other round follows this one.
    extension(const node_lists& nodes, time_point sent, duration ttl, drift_policy drift,
              bool is_last = true) noexcept
        : tally_(nodes),
          sent_(sent),
          valid_until_(redlock::valid_until(sent, ttl, drift)),
          is_last_(is_last) {}

    /// `old_valid_until` is the validity that stands at `now`: another round may have moved it.
    /// Votes after the verdict change nothing.
    verdict cast(std::size_t node, choice c, time_point now, time_point old_valid_until) noexcept;
    /// A node says that the lease was revoked: that alone ends it. (What a node notes of that does
    /// not last, and could run out there before a quorum has it.)
    verdict revoke() noexcept;
    /// Our own clock stood still for `gap` since the round was sent.
    void shorten(duration gap) noexcept {
        sent_ -= gap;
        valid_until_ -= gap;
    }

    verdict state() const noexcept { return state_; }
    /// not_held: a quorum says that the key is not ours, or it was revoked; no_quorum: too few answered;
    /// lost: the old validity ended first; validity_exhausted: the new one had ended already.
    error_code reason() const noexcept { return reason_; }
    time_point sent() const noexcept { return sent_; }
    time_point valid_until() const noexcept { return valid_until_; }

private:
    verdict decide(verdict v, error_code why) noexcept;

    tally tally_;
    time_point sent_;
    time_point valid_until_;
    bool is_last_;
    verdict state_ = verdict::open;
    error_code reason_;
};

}  // namespace redlock::core

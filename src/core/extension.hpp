// One round to prolong a lease; knows neither the lease's history nor what the nodes are sent.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/poll.hpp"
#include "core/quorum.hpp"

#include <redlock/error.hpp>

#include <cstddef>
#include <cstdint>

namespace redlock::core {

/// Prolonged once a quorum said so while the old validity still stood; the new validity counts from
/// the instant at which this round was sent. Otherwise the old validity stands.
///
/// A node on which the key is gone refuses a fence that is not above all that it has seen. Where
/// such nodes could make up the quorum under a higher one, the round may be followed by another,
/// once. But only when it is certain that no quorum will say that the key is not ours: somebody
/// else may have held the lock then, under a higher fence, and the lease must not come back.
class extension {
public:
    enum class verdict : std::uint8_t { open, extended, failed, again };

    /// `is_last`: no other round follows it.
    extension(std::size_t nodes, time_point sent, duration ttl, drift_policy drift,
              bool is_last = true) noexcept
        : poll_(nodes),
          sent_(sent),
          valid_until_(core::valid_until(sent, ttl, drift)),
          is_last_(is_last) {}

    /// `old_valid_until` is what stands at `now`: another round may have moved it. `is_outrun`: the
    /// no is to the fence alone. What comes after the verdict changes nothing.
    verdict cast(std::size_t node, ballot b, time_point now, time_point old_valid_until,
                 bool is_outrun = false) noexcept;
    void abandon(error_code why) noexcept;

    verdict state() const noexcept { return state_; }
    /// not_held: a quorum says that the key is not ours; no_quorum: too few answered;
    /// lost: the old validity ended first; validity_exhausted: the new one had ended already.
    error_code reason() const noexcept { return reason_; }
    time_point sent() const noexcept { return sent_; }
    time_point valid_until() const noexcept { return valid_until_; }

private:
    verdict decide(verdict v, error_code why) noexcept;

    poll poll_;
    time_point sent_;
    time_point valid_until_;
    bool is_last_;
    std::size_t outrun_ = 0;  // they are among the no
    verdict state_ = verdict::open;
    error_code reason_;
};

}  // namespace redlock::core

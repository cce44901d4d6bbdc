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
class extension {
public:
    enum class verdict : std::uint8_t { open, extended, failed };

    extension(std::size_t nodes, time_point sent, duration ttl, drift_policy drift) noexcept
        : poll_(nodes), sent_(sent), valid_until_(core::valid_until(sent, ttl, drift)) {}

    /// `old_valid_until` is what stands at `now`: another round may have moved it.
    verdict cast(std::size_t node, ballot b, time_point now, time_point old_valid_until) noexcept;
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
    verdict state_ = verdict::open;
    error_code reason_;
};

}  // namespace redlock::core

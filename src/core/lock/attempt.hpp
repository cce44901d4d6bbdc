// One try to acquire: votes in, verdict out; knows no node's name and sends nothing itself.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/quorum/tally.hpp"
#include "value/time.hpp"
#include "value/validity.hpp"

#include <redlock/error.hpp>
#include <redlock/vote.hpp>

#include <cstddef>
#include <cstdint>

namespace redlock::core {

/// What a vote is worth in an attempt.
choice weigh(vote v) noexcept;

/// The Redlock rule: granted once a quorum said so within the validity, refused as soon as that can
/// no longer be (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/).
///
/// Where nodes that found the proposed fence stale could make up the quorum, there is a second
/// round, once, under a fence above all that were seen. It begins as soon as the nodes that have
/// answered could win it. Only votes for the present round count.
///
/// Made when the round is handed to the first connection. If it is not granted, the caller gives
/// back every vote of it.
class attempt {
public:
    enum class verdict : std::uint8_t { open, granted, refused, again };

    attempt(const node_lists& nodes, time_point sent, duration ttl, drift_policy drift) noexcept
        : tally_(nodes),
          ttl_(ttl),
          drift_(drift),
          valid_until_(redlock::valid_until(sent, ttl, drift)) {}

    /// A node answered the present round, or did not in time. What comes after the verdict changes
    /// nothing. `again`: send the second round to every node, and say so by `begin_second`.
    verdict cast(std::size_t node, vote v, time_point now) noexcept;
    void begin_second(time_point sent) noexcept;
    /// Our own clock stood still for `gap` since the round was sent.
    void shorten(duration gap) noexcept { valid_until_ -= gap; }

    verdict state() const noexcept { return state_; }
    /// Why it was refused.
    error_code reason() const noexcept { return reason_; }
    time_point valid_until() const noexcept { return valid_until_; }

private:
    verdict decide(verdict v, error_code why) noexcept;

    tally tally_;
    duration ttl_;
    drift_policy drift_;
    time_point valid_until_;
    bool is_second_ = false;
    verdict state_ = verdict::open;
    error_code reason_;
};

}  // namespace redlock::core

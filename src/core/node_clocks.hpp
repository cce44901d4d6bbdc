// The nodes' wall clocks against each other and against ours; reads no clock and asks no node.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/quorum.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace redlock::core {

/// What a node answered to TIME, and the instants on our clock between which it read its own.
struct clock_reading {
    std::int64_t time_us = 0;
    time_point sent{};
    time_point received{};
};

/// Node time is the median of what the nodes answered, carried forward on `redlock::clock`; a wall
/// clock of our own has no part in it.
class node_clocks {
public:
    /// `tolerance`: how far from the median a node's clock may be.
    node_clocks(std::size_t nodes, duration tolerance, drift_policy drift)
        : tolerance_(tolerance), drift_(drift), offsets_(nodes) {}

    /// Takes a reading. Returns how far the node's clock jumped since the last one: zero where it
    /// ran true to within the drift allowance over that time.
    duration read(std::size_t node, const clock_reading& r);

    /// In us; nothing before the first reading.
    std::optional<std::int64_t> now_us(time_point now) const noexcept;
    /// How far a node's clock is ahead of the median; nothing before its first reading.
    std::optional<duration> skew(std::size_t node) const noexcept;
    bool is_skewed(std::size_t node) const noexcept;
    /// By how much a node's clock is ahead of ours at most, in us; nothing before its first reading.
    std::optional<std::int64_t> ahead_us(std::size_t node) const noexcept;
    duration tolerance() const noexcept { return tolerance_; }
    /// The quarantine that the nodes go by has changed, and with it what is tolerable.
    void set_tolerance(duration d) noexcept { tolerance_ = d; }

private:
    // Of a node's clock to ours: it lies between the two.
    struct offset {
        std::int64_t low_us;
        std::int64_t high_us;
        time_point since;  // when the reading of it began
        std::int64_t middle_us() const noexcept { return low_us + (high_us - low_us) / 2; }
    };

    duration tolerance_;
    drift_policy drift_;
    std::vector<std::optional<offset>> offsets_;
    std::optional<std::int64_t> median_us_;  // of the offsets
};

}  // namespace redlock::core

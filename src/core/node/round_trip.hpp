// How long a node is away, and how long it may take to answer; knows no node.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/time.hpp"

#include <redlock/options.hpp>

#include <algorithm>
#include <chrono>

namespace redlock::core {

/// Between these lies what is measured.
inline constexpr duration shortest_node_timeout = std::chrono::milliseconds(50);
inline constexpr duration longest_node_timeout = longest_measured_timeout;

/// The least that a node has over one command about a lease of `ttl`. An fsync, the fork for a save
/// or a busy host stops nodes for a tenth of a second now and then, several at once, and that is no
/// outage. Of a short ttl it is a tenth: more would leave no time for another try.
constexpr duration least_node_timeout(duration ttl) noexcept {
    return std::clamp<duration>(ttl / 10, shortest_node_timeout, std::chrono::milliseconds(250));
}
/// The ttl that is no reason to hurry.
inline constexpr duration any_ttl = duration::max();

/// The longest silence while a connection is made and greeted is three round trips, since TCP begins
/// slowly where scripts are loaded; and what was waited for in vain may take twice as long.
inline constexpr int round_trips_to_connect = 6;

/// What would do for a node that is so far away: four round trips, and no less than the least.
constexpr duration enough_for(duration round_trip, duration ttl = any_ttl) noexcept {
    return std::max(least_node_timeout(ttl), 4 * round_trip);
}

/// What is given, where it is not zero; else what was measured.
constexpr duration node_timeout(duration given, duration round_trip,
                                duration ttl = any_ttl) noexcept {
    if (given > duration::zero()) return given;
    return std::min(enough_for(round_trip, ttl), longest_node_timeout);
}

/// The shortest that it is for any ttl. By this go the load that is put on a node, and when a
/// connection without an answer is opened again: short leases suffer from both.
constexpr duration shortest_timeout(duration given, duration round_trip) noexcept {
    return node_timeout(given, round_trip, duration::zero());
}

/// Measures the queries of a handshake, each from when it is sent to the first reply, and keeps
/// the shortest: neither connecting is in it, nor the commands that went out in the same write.
class round_trip {
public:
    /// Another handshake begins, and what was measured before it says nothing any more.
    void begin() noexcept { shortest_ = duration::max(); }
    void queried(time_point now) noexcept { queried_at_ = now; }
    void answered(time_point now) noexcept {
        if (queried_at_ == time_point::max()) return;
        shortest_ = std::min(shortest_, now - queried_at_);
        queried_at_ = time_point::max();
    }
    bool is_known() const noexcept { return shortest_ != duration::max(); }
    /// Zero where it is not known.
    duration get() const noexcept { return is_known() ? shortest_ : duration::zero(); }

private:
    duration shortest_ = duration::max();
    time_point queried_at_ = time_point::max();
};

}  // namespace redlock::core

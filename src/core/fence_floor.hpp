// Above which time fences are drawn after the clocks of the nodes went back; asks no node.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/clock.hpp"

#include <chrono>
#include <cstdint>

namespace redlock::core {

/// What a node's record says of the fences that were drawn so far. A node forgets a fence when its
/// time is well above it. Where the clocks of all nodes go back after that, fences that are drawn
/// by them would be lower than those before. So the records keep the highest node time that a
/// client reckoned. Where node time is lower by more than clocks may differ, a lift is written to
/// the records: all programs add it to node time, and to a node's clock wherever they compare a
/// fence with that.
struct fence_floor {
    std::uint64_t lifts = 0;      ///< How often the lift was changed.
    std::int64_t highest_us = 0;  ///< The highest node time so far, with the lift; 0: not known.
    std::int64_t lift_us = 0;

    bool has_lift_of(const fence_floor& other) const noexcept {
        return lifts == other.lifts && lift_us == other.lift_us;
    }
    friend bool operator==(const fence_floor&, const fence_floor&) = default;
};

/// `highest_us` is no older than this where fences were drawn since: each client that draws one
/// writes it.
inline constexpr duration longest_unwritten_highest = std::chrono::seconds(5);

/// What two records say together: the one whose lift was changed more often counts. It is of a
/// change that a quorum has, and was made with the other's figures in view.
fence_floor joined(const fence_floor& a, const fence_floor& b) noexcept;

/// With another lift where one is due at that node time, to which no lift was added. `tolerance`:
/// how far fences may lie from node time.
/// - Clocks that went back by so much that fences can't go on from `highest_us`: all fences so far
///   are below node time and the new lift.
/// - Clocks that went ahead again, by a minute or more, or nodes that nobody used for as long: the
///   lift goes as far as it can.
fence_floor lifted_for(fence_floor known, std::int64_t node_time_us, duration tolerance) noexcept;

/// Above what a fence has to be that is drawn at that time, which is lifted. Where the clocks went
/// back by a little it is what node time may have been after it was written last, as far as the
/// tolerance allows. They did not where two clients just read them at different nodes.
std::int64_t fences_until_us(const fence_floor& of, std::int64_t time_us,
                             duration tolerance) noexcept;

/// By how much the clocks went back, at least, before such a lift was written.
duration least_step_of(const fence_floor& of, duration tolerance) noexcept;

}  // namespace redlock::core

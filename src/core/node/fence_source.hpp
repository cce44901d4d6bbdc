// Draws the fences that one client proposes; knows no resource and no node.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/time.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace redlock::core {

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
    return std::min(ttl_max / 4, most_fence_tolerance);
}

/// What holds for all fenced requests of a command, as of when it is sent.
struct fence_limits {
    duration tolerance{};  ///< `fence_tolerance`.
    duration life{};       ///< Of a fence on a node, at most: shared/fence_life.lua.
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
        const auto time = static_cast<std::uint64_t>(node_time_us > 0 ? node_time_us : 0);
        const auto ahead = static_cast<std::uint64_t>(
            std::chrono::floor<std::chrono::microseconds>(tolerance).count());
        seen = std::min(seen, fence_limit);
        const std::uint64_t fence =
            std::max({last_ + 1, seen + 1, std::min(raised, time + ahead / 2), time});
        if (fence > time + ahead || fence >= fence_limit) return std::nullopt;
        last_ = fence;
        return fence;
    }

private:
    std::uint64_t last_ = 0;
};

}  // namespace redlock::core

// The fence by which nodes refused to take a lease's key again; knows no key and no connection.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/quorum/tally.hpp"
#include "value/node_mask.hpp"
#include "value/quorum.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::core {

/// A node that lost a key takes it again only under a fence above all that it has seen. A client
/// that tries again and again to acquire goes on raising that fence, and where its clock is ahead
/// of node time, a fence drawn by ours alone would never pass it. So a lease remembers a refusal
/// until the nodes that gave it have the key again: also past an extension that needed none of
/// them, since later one of the others may fail.
class refusal {
public:
    /// The answer of one node to what was sent at `sent`. `seen_fence`: the highest fence that it
    /// has seen, where that alone made it refuse, also without a vote; 0 otherwise.
    void cast(std::size_t node, choice c, std::uint64_t seen_fence, time_point sent) noexcept {
        if (c == choice::yes) by_.erase(node);
        if (seen_fence == 0) return;
        const bool is_highest = by_.empty() || seen_fence > fence_;
        by_.insert(node);
        if (!is_highest) return;
        fence_ = seen_fence;
        sent_ = sent;
    }
    /// The highest fence that was named; 0 where no node refuses.
    std::uint64_t fence() const noexcept { return by_.empty() ? 0 : fence_; }
    /// Where it may be by `then`, if it is raised as fast as time goes by.
    std::uint64_t fence_by(time_point then) const noexcept {
        using std::chrono::microseconds;
        const auto passed = std::chrono::duration_cast<microseconds>(then - sent_);
        return by_.empty() ? 0 : fence_ + static_cast<std::uint64_t>(passed.count());
    }

private:
    node_mask by_{};
    std::uint64_t fence_ = 0;
    time_point sent_{};
};

}  // namespace redlock::core

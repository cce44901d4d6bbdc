// The fence by which nodes refused to take a lease's key again; knows no key and no connection.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/time.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace redlock::core {

/// A node that lost a key takes it again only under a fence above all that it has seen. A client
/// that tries again and again to acquire goes on raising that fence, and where its clock is ahead
/// of node time, a fence drawn by ours alone would never pass it. So a lease remembers a refusal,
/// also past an extension that had its quorum without that node: later another one may fail.
class refused_fence {
public:
    /// A node refused what was sent at `sent` for its fence alone, with or without a vote: it has
    /// seen this one.
    void note(std::uint64_t seen_fence, time_point sent) noexcept {
        fence_ = sent > sent_ ? seen_fence : std::max(fence_, seen_fence);
        sent_ = std::max(sent_, sent);
    }
    /// Our own clock stood still for `gap`: so much longer ago it was.
    void shorten(duration gap) noexcept {
        if (fence_ != 0) sent_ -= gap;
    }
    /// Where that fence may be `soon` after `now`, if it is raised as fast as time goes by. 0 where
    /// nobody has refused for longer than `memory`: fences ahead of node time would cost every
    /// other client a second round.
    std::uint64_t raised(time_point now, duration soon, duration memory) const noexcept {
        using std::chrono::microseconds;
        if (fence_ == 0 || now - sent_ > memory) return 0;
        const auto passed = std::chrono::duration_cast<microseconds>(now + soon - sent_);
        return fence_ + static_cast<std::uint64_t>(passed.count());
    }

private:
    std::uint64_t fence_ = 0;
    time_point sent_{};
};

}  // namespace redlock::core

// How many requests may be at the nodes at once; knows neither their senders nor their content.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/time.hpp"

#include <cassert>
#include <cstddef>

namespace redlock::core {

/// Nodes that receive more requests than they can execute answer all of them too late: each answer
/// waits for all earlier requests, and an answer after the time-out is worth nothing. So there is
/// a window on the number of requests under way. It grows while answers come soon, by an eighth in
/// each round trip, or twofold until it was once too large. It shrinks by a quarter when answers
/// had to wait for a quarter of the time that a node has. The distance of the nodes does not
/// count: the measure is the quickest answer since nothing was under way, or since so little was
/// that it cannot have waited long.
///
/// Requests of other clients make the nodes slower, too; the window makes no difference there.
class window {
public:
    enum class growth : bool { steady, twofold_at_first };

    window(duration node_timeout, std::size_t least, std::size_t size, growth how) noexcept
        : patience_(node_timeout / 4), least_(least), size_(size), growth_(how) {}

    /// From now on a node has that much time to answer.
    void set_node_timeout(duration node_timeout) noexcept { patience_ = node_timeout / 4; }
    bool has_room() const noexcept { return inside_ < size_; }
    std::size_t size() const noexcept { return size_; }

    void enter() noexcept;
    // Each request that entered leaves once, by one of these.
    /// A quorum of nodes has answered the request that was sent at `sent`.
    void answered(time_point sent, time_point now) noexcept;
    /// No quorum will answer.
    void unanswered(time_point sent, time_point now) noexcept;
    /// The answer is no longer needed.
    void leave() noexcept {
        assert(inside_ > 0);
        --inside_;
    }

private:
    void grow() noexcept;
    void shrink(time_point sent, time_point now) noexcept;

    duration patience_;
    std::size_t least_;
    std::size_t size_;
    std::size_t inside_ = 0;
    growth growth_;
    std::size_t quick_answers_ = 0;  // since it grew
    duration quickest_ = duration::max();
    time_point shrunk_at_ = time_point::min();
};

}  // namespace redlock::core

// How much may be asked of the nodes at once; knows neither who asks nor what.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/quorum.hpp"

#include <cassert>
#include <cstddef>

namespace redlock::core {

/// Nodes that are asked for more than they can answer answer everything too late: each answer waits
/// for all that was asked before, and what comes after the time of its question is worth nothing.
/// So there is a window on how much is under way. It grows while answers come soon, by an eighth in
/// each round trip, or twofold until it was once too large; and it shrinks by a quarter when they
/// had to wait for a quarter of the time that a node has. How far away the nodes are does not
/// count: the quickest answer is the measure, since nothing was under way, or since as little was
/// that it cannot have waited long.
///
/// What others ask of the nodes makes them slower, too, and is not told apart.
class window {
public:
    enum class growth : bool { steady, twofold_at_first };

    window(duration node_timeout, std::size_t least, std::size_t size, growth how) noexcept
        : patience_(node_timeout / 4), least_(least), size_(size), growth_(how) {}

    /// From now on a node has so much time.
    void set_node_timeout(duration node_timeout) noexcept { patience_ = node_timeout / 4; }
    bool has_room() const noexcept { return inside_ < size_; }
    std::size_t size() const noexcept { return size_; }

    void enter() noexcept;
    // Each leaves once, by one of these.
    /// A quorum of nodes has answered what was asked at `sent`.
    void answered(time_point sent, time_point now) noexcept;
    /// No quorum will.
    void unanswered(time_point sent, time_point now) noexcept;
    /// Nobody wants to know any more.
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

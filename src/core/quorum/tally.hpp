// The count of one round: how many nodes said yes, no, or cannot vote; knows no reasons, no time.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/quorum.hpp"

#include <redlock/options.hpp>

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace redlock::core {

/// What one node's answer is worth in a count.
enum class choice : std::uint8_t {
    pending,  ///< No answer yet.
    yes,      ///< It did what the round requests.
    no,       ///< It can vote, and voted against.
    unable,   ///< It can't vote: refused, timed out, unreachable.
};

/// Counts the choices of one round over N nodes. The first choice of a node stands.
class tally {
public:
    explicit tally(std::size_t nodes) noexcept : nodes_(nodes) { assert(nodes <= max_nodes); }

    /// False if the node has voted before, or there is no such node: nothing is counted then.
    bool cast(std::size_t node, choice c) noexcept;

    std::size_t nodes() const noexcept { return nodes_; }
    std::size_t quorum() const noexcept { return redlock::quorum(nodes_); }
    std::size_t yes() const noexcept { return yes_; }
    std::size_t no() const noexcept { return no_; }
    std::size_t unable() const noexcept { return unable_; }
    std::size_t pending() const noexcept { return nodes_ - yes_ - no_ - unable_; }

    /// A quorum said yes.
    bool has_won() const noexcept { return yes_ >= quorum(); }
    /// Whatever is still to come, no quorum will say yes.
    bool has_lost() const noexcept { return yes_ + pending() < quorum(); }
    /// So many can't vote that the others are no quorum.
    bool is_undecidable() const noexcept { return nodes_ - unable_ < quorum(); }

private:
    std::size_t nodes_;
    std::size_t yes_ = 0;
    std::size_t no_ = 0;
    std::size_t unable_ = 0;
    std::array<choice, max_nodes> cast_{};
};

}  // namespace redlock::core

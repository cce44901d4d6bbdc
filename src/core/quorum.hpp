// The count of one round: which nodes said yes, no, or cannot vote, and what their keys say
// together.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/nodes.hpp"

#include <redlock/options.hpp>
#include <redlock/resource_state.hpp>

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace redlock::core {

/// What one node's answer is worth in a count.
enum class choice : std::uint8_t {
    pending,  ///< No answer yet.
    yes,      ///< It did what the round requests.
    no,       ///< It can vote, and voted against.
    stale,    ///< The same, against the fence alone: it may say yes to a higher one.
    unable,   ///< It can't vote: refused, timed out, unreachable.
};

/// Counts the choices of one round. The first choice of a node stands. Of a joint list each list is
/// counted by itself, and a quorum is one of both.
class tally {
public:
    explicit tally(const node_lists& lists) noexcept
        : lists_(lists), counts_{count(lists.old()), count(lists.after())},
          used_(lists.is_joint() ? 2 : 1) {
        assert(!lists.old().empty() && !lists.after().empty());
    }

    /// False if the node has voted before, or there is no such node: nothing is counted then.
    bool cast(std::size_t node, choice c) noexcept;

    const node_lists& lists() const noexcept { return lists_; }

    /// A quorum said yes.
    bool has_won() const noexcept {
        return of_each([](const count& c) { return c.yes >= c.quorum; });
    }
    /// Whatever is still to come, no quorum will say yes.
    bool has_lost() const noexcept {
        return !of_each([](const count& c) { return c.yes + c.pending >= c.quorum; });
    }
    /// So many can't vote that the others are no quorum.
    bool is_undecidable() const noexcept {
        return !of_each([](const count& c) { return c.nodes - c.unable >= c.quorum; });
    }
    /// More than half of a list said no.
    bool is_denied() const noexcept {
        return !of_each([](const count& c) { return c.no + c.stale < c.quorum; });
    }
    /// More than half of a list may still say no.
    bool may_be_denied() const noexcept {
        return !of_each([](const count& c) { return c.no + c.stale + c.pending < c.quorum; });
    }
    /// A quorum said yes or no.
    bool has_answers() const noexcept {
        return of_each([](const count& c) { return c.yes + c.no + c.stale >= c.quorum; });
    }
    /// Those that said yes, and those that refused the fence alone, are a quorum.
    bool would_win_above() const noexcept {
        return of_each([](const count& c) { return c.yes + c.stale >= c.quorum; });
    }
    /// They may still become one.
    bool may_win_above() const noexcept {
        return of_each([](const count& c) { return c.yes + c.stale + c.pending >= c.quorum; });
    }

private:
    struct count {
        explicit count(node_mask list) noexcept
            : nodes(static_cast<std::uint8_t>(list.size())),
              quorum(static_cast<std::uint8_t>(redlock::quorum(nodes))),
              pending(nodes) {}
        std::uint8_t nodes;    // the sum of the numbers below
        std::uint8_t quorum;   // more than half of the nodes
        std::uint8_t pending;  // have no vote yet
        std::uint8_t yes = 0;
        std::uint8_t no = 0;
        std::uint8_t stale = 0;
        std::uint8_t unable = 0;
    };

    template <class Holds>
    bool of_each(Holds holds) const noexcept {
        return holds(counts_[0]) && (used_ == 1 || holds(counts_[1]));
    }
    static void note(count& to, choice c) noexcept;

    node_lists lists_;
    std::array<count, 2> counts_;  // the old list, the new list
    std::uint8_t used_;            // how many counts: 2 for a joint list
    std::array<choice, max_nodes> cast_{};  // the first of each node
};

/// It has said what it has of the key.
bool has_answered(const node_state& n) noexcept;

/// Fills `held`, `kept`, `owner`, `note`, `valid_for`, `fence`, the two quorums and `decided` from
/// `state.nodes`. `values` are the whole values of the keys, one per node, since abbreviated ones
/// may collide; `owner` and `note` are those of the winning nodes.
void read_quorum(resource_state& state, std::span<const std::string> values,
                 const node_lists& lists);

/// Whether the nodes that did not answer, whatever they hold, could not change what `read_quorum`
/// made of the others' answers: there is no other holder, and no other reader.
bool is_conclusive(const resource_state& state, std::span<const std::string> values,
                   const node_lists& lists);

}  // namespace redlock::core

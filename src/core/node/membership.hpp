// Of which list each node is, as a client judges by the nodes' records; asks no node.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/node/list_facts.hpp"
#include "value/node_mask.hpp"
#include "value/quorum.hpp"
#include "value/time.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace redlock::core {

/// The sets that a client's list names: of a joint list two, else twice the same.
struct own_sets {
    std::string old{};
    std::string after{};
};

/// The list of nodes changes while locks are held. The old list is S, the new one T. Every node's
/// record names the set that the node is of, how often that was changed, and the sets before. An
/// operator closes a majority of S for all programs but those with the joint list, and then writes T
/// (`list_commit`). This class says what that makes of a node for a client:
/// - A client with S and T takes nodes of S, those that are closed for T, those that are joining S,
///   and those of T that followed S. A client with one list takes nodes of it alone.
/// - Of the same set under a smaller number a node is not: it missed changes, and clients that know
///   of them turn it into what they know. So is one whose set stands in the history of another node.
///   Until then it has no vote.
/// - A node of any other set is a misfit: then no node grants the client anything. But a joining node
///   with a record of some other set costs only its own vote.
///
/// A node that lost its record may have been closed. Where a change is under way its record is made
/// again only after more than half of each list that it is of, without it, were read since the loss
/// was seen; then as the latest of them have it. (With fewer, a closed node became one of S again.)
class membership {
public:
    enum class standing : std::uint8_t {
        unknown,  ///< Nothing was read.
        empty,    ///< It has no record.
        fits,
        closed,   ///< It takes only programs with another joint list.
        behind,   ///< It has to be turned into the set that another node is of.
        foreign,  ///< It is joining, and has a record of another set.
        misfit,   ///< It is of another set.
    };

    membership(const node_lists& lists, own_sets sets);

    bool is_joint() const noexcept { return lists_.is_joint(); }
    const own_sets& sets() const noexcept { return sets_; }

    /// A node answered a query that went out at `sent`. `facts`: nothing where it has no record.
    void read(std::size_t node, std::optional<list_facts> facts, const std::string& epoch,
              time_point sent, time_point now);
    standing of(std::size_t node) const noexcept { return nodes_[node].is; }
    const std::optional<list_facts>& facts(std::size_t node) const noexcept {
        return nodes_[node].facts;
    }
    /// Whether the node is of the new list of a joint one.
    bool is_after(std::size_t node) const noexcept;
    /// Whether leases by the list that the node had before may be alive for a quarantine after it
    /// became one of this list, and the client has to wait for that.
    bool waits_for_earlier(std::size_t node) const noexcept;
    /// The largest number that was met.
    std::uint64_t number() const noexcept { return met_; }

    /// Of nodes that are declared new: larger than all that were met, so that a node that is away has
    /// missed it; 0 where the list was never changed.
    std::uint64_t number_to_declare() const noexcept;

    /// Whether a record of a node that has none needs the others to be read again first.
    bool is_strict() const noexcept;
    /// The nodes that may be given a record now, of those that have none.
    node_mask makeable() const;
    /// What a record of the node says beside the usual: nothing where that is all.
    std::optional<list_facts> made(std::size_t node) const;
    /// The nodes to read again, so that a record may be made of one that has none.
    node_mask to_read() const;

    /// The node is turned into what another one is.
    struct turn {
        list_facts from;   ///< Where it has another record by then, nothing is done.
        std::string epoch;
        list_facts to;
        bool forgets = false;  ///< It may have missed leases.
    };
    std::optional<turn> turn_of(std::size_t node) const;

private:
    struct node_state {
        standing is = standing::unknown;
        std::optional<list_facts> facts;
        std::string epoch;
        bool is_read = false;
        time_point sent{};         // of the query that was answered last
        time_point empty_since{};  // when that was seen first
    };

    standing judge(std::size_t node) const;
    standing judge_own(std::size_t node, const list_facts& f) const;
    bool is_own(const list_facts& f) const noexcept;
    bool is_of_this_change(const list_facts& f) const noexcept;
    bool is_missed(std::size_t node) const;
    std::optional<std::size_t> later_than(std::size_t node) const;
    node_mask read_since(std::size_t node) const;
    std::optional<std::size_t> latest(node_mask of) const;

    node_lists lists_;
    own_sets sets_;
    std::vector<node_state> nodes_;
    std::uint64_t met_ = 0;
};

}  // namespace redlock::core

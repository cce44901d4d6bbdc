// Whether the nodes are a new cluster, and which client says so; sends nothing itself.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/node/eligibility.hpp"
#include "value/node_mask.hpp"
#include "value/time.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::core {

/// Nodes that have no record may have lost it, with every lease they knew. Only where all of them
/// have none is the cluster new. Then one client opens all nodes at once, and nobody waits.
///
/// Records are made only when every node has answered or is out of reach, and none belongs to
/// another set: an empty node must not join the wrong set. Records that were made before that was
/// known are taken back: once they are old enough to vote, the next client with this list could be
/// granted a lease before the node of the other set answers it.
///
/// A client that only looks makes, opens and withdraws nothing until it keeps records.
///
/// A client writes its mark into each record that it makes. When all nodes took it, on connections
/// that have not broken since, it opens them. Of two clients that start one together, the one with
/// the higher mark takes its own back and gives the other some seconds. Whatever goes wrong leaves
/// records in quarantine, which is always safe.
class bootstrap {
public:
    /// What is to be done on a node.
    enum class task : std::uint8_t {
        look,      ///< Read the record; make none.
        make,      ///< Read it; make one with the mark where there is none.
        settle,    ///< Likewise, without the mark.
        open,      ///< Say that no earlier lease can be alive, where the mark still stands.
        withdraw,  ///< Remove the record where the mark still stands.
    };
    struct order {
        std::size_t node;
        task what;
    };

    /// `is_wanted`: false where only an operator may declare a cluster new.
    bootstrap(std::size_t nodes, bool is_wanted, duration window, std::string mark);

    const std::string& mark() const noexcept { return mark_; }
    void keep_records() noexcept { keeps_records_ = true; }
    /// Whether a client that keeps records would open all nodes: each has answered that it has none.
    bool is_new_cluster() const noexcept;

    /// The record of a node, from its handshake or from an order. The node read it at an instant
    /// between `sent` and `now`; when an order was given is known here.
    void found(std::size_t node, const record_facts& record, time_point now,
               time_point sent = time_point::max());
    /// Its server is in the list under another name, and answers there.
    void excuse(std::size_t node) noexcept { nodes_[node].is = state::excused; }
    /// The node belongs to another set: no record is made on any node until `found` says otherwise.
    void note_other_set(std::size_t node) noexcept;
    /// The node has a record that does not count yet, since the list of nodes changes: the cluster is
    /// not new.
    void note_record(std::size_t node) noexcept;
    /// The nodes that may be given a record, of those that have none. Where the list changes a record
    /// depends on the others': see `membership`.
    void set_makeable(node_mask nodes) noexcept { makeable_ = nodes; }
    /// Its connection broke, or could not be made.
    void down(std::size_t node) noexcept;
    /// An order to open or to withdraw was answered.
    void done(std::size_t node, time_point now) noexcept;

    /// What is to be done now. Each order is given once; one that could not be carried out, or whose
    /// connection broke, is followed by `down`.
    std::vector<order> due(time_point now);
    /// When to call `due` again.
    time_point deadline() const noexcept;
    /// The node had a record at the last `found`, and nobody is taking it back: where there is none
    /// now, the node has forgotten it.
    bool expects_record(std::size_t node) const noexcept {
        return nodes_[node].is == state::settled || nodes_[node].is == state::ours;
    }
    /// An order has no answer yet.
    bool is_asking() const noexcept { return has(state::ordered); }
    /// Nodes may get their vote any moment: an acquire that can wait a little waits.
    bool is_pending() const noexcept;

private:
    enum class state : std::uint8_t {
        unknown,  // it has not answered yet
        down,
        empty,    // there was no record, or it was taken back
        ours,     // we made it on this connection
        theirs,   // it bears the mark of another client that is at it
        settled,
        excused,
        other_set,
        ordered,  // an order is under way
    };
    struct node_state {
        state is = state::unknown;
        task ordered = task::look;
        time_point ordered_at{};
        std::string mark;
    };

    bool has(state s) const noexcept;
    bool has_makeable() const noexcept;
    bool is_all_ours() const noexcept;
    bool may_make() const noexcept;
    bool waits_for_news() const noexcept;
    void look_soon(time_point now) noexcept;
    void give(std::vector<order>& out, std::size_t node, task what, time_point now);
    bool must_yield() const noexcept;

    std::string mark_;
    duration window_;
    bool keeps_records_ = false;
    std::vector<node_state> nodes_;
    node_mask makeable_ = node_mask::first(max_nodes);
    bool may_open_;              // nothing has been seen that speaks against a new cluster
    bool has_yielded_ = false;   // another client's mark goes first
    time_point first_made_ = time_point::max();
    time_point patience_ends_ = time_point::max();  // with the other client
    time_point next_look_ = time_point::max();
};

}  // namespace redlock::core

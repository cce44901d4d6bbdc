// Giving a lease back: what each node is sent, and how the round ends; sends nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/lock/traces.hpp"
#include "core/quorum/tally.hpp"
#include "value/node_mask.hpp"
#include "value/time.hpp"

#include <redlock/error.hpp>

#include <cstddef>
#include <optional>

namespace redlock::core {

/// What the release for one node says besides the key.
struct release_message {
    /// It raises the fence above what may still lie in a broken connection to the node.
    bool raises_fence = false;
    bool names_waiter = false;  ///< And its place in the queue of the node.
    /// The fence is kept for longer than it is needed: its life is cut.
    bool cuts_fence = false;
    duration keep{};            ///< For so long the key stays in the way of others; zero: it goes.
};

/// What it goes by.
struct release_facts {
    bool may_arrive_late = false;  ///< By `disruptions`, now.
    bool is_entered = false;       ///< The waiter may have a place in the queue of the node.
    bool waits_on = false;         ///< The waiter stays in the queues, as far as was known at first.
    /// The message was owed, or the node had lost its scripts: whether the waiter waits on is no
    /// longer known.
    bool is_again = false;
};
release_message message_of_release(const traces& left, const release_facts& facts,
                                   time_point now) noexcept;

/// The nodes that a release by the client itself goes to. `entered`: in whose queues the waiter may
/// be.
node_mask nodes_to_release(const traces& left, node_mask entered, node_mask all) noexcept;

/// What was owed to a node has gone out to it: the release that follows to all nodes, if any. If
/// another program may go on extending the lease, each node has to note that the lease is over, and
/// the notes on the other nodes may have run out. The following one is owed to no node.
std::optional<traces> release_after_owed(const traces& left, bool is_fenced) noexcept;

/// Complete at a quorum of answers, once no quorum can deny it any more, or when that is impossible.
class release {
public:
    explicit release(const node_lists& nodes) noexcept : tally_(nodes) {}

    /// yes: deleted; no: the key was not ours, or gone; unable: no answer. True when this completes
    /// the round.
    bool cast(std::size_t node, choice c) noexcept;

    bool complete() const noexcept { return complete_; }
    /// None; not_held: a quorum says that the key was not ours; no_quorum: too few answered.
    error_code outcome() const noexcept { return outcome_; }

private:
    tally tally_;
    bool complete_ = false;
    error_code outcome_;
};

}  // namespace redlock::core

// Giving a lease back, or taking it from its holder: what each node is sent, and how the round
// ends.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/lease.hpp"
#include "core/quorum.hpp"
#include "value/clock.hpp"
#include "value/nodes.hpp"

#include <redlock/error.hpp>
#include <redlock/resource_state.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

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
    /// The waiter stays in the queues, as far as was known at first.
    bool waits_on = false;
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

/// Complete at a quorum of answers, once no quorum can deny it any more, or when that is
/// impossible.
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
    bool complete_ = false;  // then no vote changes the outcome
    error_code outcome_;     // none before that
};

/// First the nodes report the values that hold each key. Those whose owners the operator has seen
/// are then revoked on all nodes. A holder that came later keeps the lock.
class revocation {
public:
    /// A value of a key, as a node reports it.
    struct held_value {
        std::string whole;     ///< Abbreviated values may collide.
        std::string owner;     ///< Abbreviated, without the mark of a kept key.
        bool is_kept = false;  ///< Its lease was released: see `acquire_options::min_hold`.

        bool operator<(const held_value& other) const noexcept { return whole < other.whole; }
    };
    /// The key of the resource, or of one of its slots.
    struct target {
        std::optional<std::uint16_t> slot{};
        std::set<std::string> owners{};    ///< Abbreviated, as the operator has seen them.
        std::set<std::string> values{};    ///< Of these owners: to be revoked.
        std::vector<held_value> others{};  ///< Of holders that came later.
    };
    /// How two values are shown that name no owner.
    struct nameless_owners {
        std::string empty;
        std::string readers;
    };
    enum class phase : std::uint8_t { none, look, revoke, over };

    revocation() = default;
    revocation(const resource_state& shown, const nameless_owners& names);

    /// Goes on to the next phase; to `over` at once where the operator has seen no owner.
    phase advance();
    phase state() const noexcept { return phase_; }
    const std::vector<target>& targets() const noexcept { return targets_; }
    /// Whether the nodes are queried about the target in this phase.
    bool is_due(std::size_t target) const;

    /// The highest fence that a node has seen, or that was raised to. A fence that no client can
    /// have drawn is not `plausible`, and is raised to on no other node.
    std::uint64_t fence() const noexcept { return fence_; }
    void note_fence(std::uint64_t fence, bool plausible) noexcept;

    /// In `look`: a node reports a value of the target.
    void saw(std::size_t target, held_value what);
    /// In `revoke`: a node removed a value, or reports one that still holds the key.
    void removed(held_value what);
    void remains(held_value what);
    /// When it is over: names the owners in `to`.
    void report(redlock::revocation& to) const;

private:
    void add_whole(const resource_state& shown, const nameless_owners& names);

    std::vector<target> targets_;
    std::set<held_value> removed_;    // none before `revoke`
    std::set<held_value> remaining_;  // none before `revoke`
    std::uint64_t fence_ = 0;         // only ever rises
    phase phase_ = phase::none;
};

}  // namespace redlock::core

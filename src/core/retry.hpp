// When an acquire tries again, and for which of its keys a waiter waits.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/clock.hpp"
#include "value/nodes.hpp"

#include <redlock/error.hpp>
#include <redlock/options.hpp>
#include <redlock/vote.hpp>

#include <array>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace redlock::core {

/// A node wakes a waiter for each key by itself. The waiter has to try only when that node would
/// let it have all of them. As in `retry`, a wake-up that comes while an answer is outstanding is
/// newer than that answer.
class blocked_keys {
public:
    /// Bit i: the i-th key can't be taken, and the node will wake the waiter when it can.
    using keys = std::uint64_t;
    static constexpr std::size_t most = 64;

    explicit blocked_keys(std::size_t count) noexcept
        : all_(count < most ? (keys(1) << count) - 1 : ~keys(0)) {
        assert(count > 0 && count <= most);
    }

    /// A query goes out to these nodes.
    void queried(node_mask nodes) noexcept {
        for (const std::size_t node : nodes) freed_[node] = 0;
    }
    /// The node named these keys as blocked. Returns whether all of them were freed meanwhile: the
    /// waiter may have all its keys.
    bool answered(std::size_t node, keys blocked) noexcept {
        assert(node < max_nodes);
        blocked_[node] = blocked & all_ & ~freed_[node];
        return (blocked & all_) != 0 && blocked_[node] == 0;
    }
    /// The node says that the waiter may have that key. Returns whether it may have all of them.
    bool woken(std::size_t node, std::size_t key) noexcept {
        assert(node < max_nodes && key < most && (all_ >> key & 1U) != 0);
        const keys one = keys(1) << key;
        freed_[node] |= one;
        blocked_[node] &= ~one;
        return blocked_[node] == 0;
    }

private:
    keys all_;  // that it wants: one at least
    std::array<keys, max_nodes> blocked_{};  // among `all_`, and none that was freed
    std::array<keys, max_nodes> freed_{};    // since it was queried last
};

/// When a node would grant us the key, by its answer.
struct outlook {
    time_point free_at{};   ///< Not before, as things are. The end of time: not by itself.
    time_point first_at{};  ///< Not before is the waiter the first in the node's queue.
    /// A foreign program holds it, which may give it back at any time and wakes no waiter.
    bool is_foreign = false;
    bool has_vote = true;    ///< False: `free_at` is when it will have one.
    std::size_t holder = 0;  ///< Differs from holder to holder; 0 where that is not known.
    /// A wake-up of that node, since the answer before this one, would have been received.
    bool was_listening = false;
    blocked_keys::keys blocked = 0;  ///< Of several keys that are wanted at once.
    std::uint16_t slots = 0;  ///< So many there are, where it is one of them; 0: that is not known.
};

/// From the key's time to live (below zero: it has no end), and from how long other waiters may be
/// before us.
outlook look_ahead(duration left, duration before, time_point now) noexcept;

/// The waiter sleeps until a quorum of nodes would grant the key, by their answers, and never
/// tries before. If the nodes named nothing that is worth waiting for, it rests for a jittered
/// back-off of 5 to 100 ms; longer where so many waiters rest that the nodes would have no rest. A
/// wake-up ends such a rest only where a quorum voted, or woke it, with nothing in the way: else
/// waiters that all get the same few nodes, and give them back, would wake each other without end.
///
/// A foreign holder wakes no waiter, and other foreign programs try every few ms: beside one, the
/// waiter that is first looks again after a jittered 2 to 50 ms, which grow while that holder
/// stays. A holder counts as foreign by its value, or where the one before it left a node early
/// and without a wake-up, until that node wakes the waiter again.
///
/// A wake-up that comes while the answer to a query is outstanding is newer than that answer.
class retry {
public:
    retry(const node_lists& nodes, time_point deadline) noexcept
        : nodes_(nodes), deadline_(deadline) {}

    /// A query goes out to these nodes: what they will answer is newer than their wake-ups so far.
    void queried(node_mask nodes) noexcept { woken_ -= nodes; }
    /// An attempt goes out. A node that does not answer it may be free for all that is known.
    void tried(time_point now) noexcept;
    void answered(std::size_t node, const outlook& what, time_point now) noexcept;
    /// A node says that the key is free, and that the waiter is first in its queue.
    void woken(std::size_t node, time_point now) noexcept;

    /// The attempt was refused; so many others of this client rest. False where no other try helps.
    bool refused(error_code why, time_point now, std::uint64_t random, std::size_t others) noexcept;
    /// Whether it waits for the end of the rest, or the next look, and for nothing the nodes named.
    bool is_resting() const noexcept { return free_for_a_quorum() <= rest_until_; }

    /// When to try again: once more, at the latest, a little before the deadline, since not every
    /// program that frees a key wakes a waiter. The deadline itself if there was such a try.
    time_point next() const noexcept;
    time_point deadline() const noexcept { return deadline_; }
    bool is_quorum_voting() const noexcept { return nodes_.is_quorum(voters_); }

private:
    using instants = std::array<time_point, max_nodes>;  // one for each node

    time_point free_for_a_quorum() const noexcept;
    bool may_be_granted(time_point now) const noexcept;

    node_lists nodes_;
    time_point deadline_;
    instants free_at_{};
    instants first_at_{};
    std::array<std::size_t, max_nodes> holders_{};  // as last answered, also to earlier tries
    time_point holder_since_{};  // the last change of any of them
    node_mask woken_;    // since they were queried last
    node_mask foreign_;  // whose holder is foreign, by its value
    node_mask wordless_;  // where a holder left without a wake-up
    time_point tried_at_{};
    time_point rest_until_{};    // not before, whatever the nodes named
    std::uint32_t rests_ = 0;    // one after the other
    node_mask voters_;           // voted since the last try, or woke us
};

/// Of programs that try at the same instant each may get some of the nodes, and none of them a
/// quorum. For an acquire without a wait that is no contention: it gives back what it got, rests
/// for a random half to two round trips, doubled each time, and tries again, for 100 ms or 16 round
/// trips, whichever is longer. It ends at once where one holder has a quorum, or waiters that are
/// before it have one; and where it got no node itself: those that did try again. (Of five programs
/// nobody got the lock in 37 of 100 bursts, of twenty in 65.)
///
/// So a try that can't be granted any more goes on until a node has granted it, a holder has a
/// quorum, or all nodes have answered. Plain keys name no holder: there a quorum of them ends it,
/// unless it got a node before; and so does a quorum in the third try in a row.
class split_votes {
public:
    static constexpr duration shortest_time = std::chrono::milliseconds(100);
    static constexpr int most_round_trips = 16;
    /// On one machine the others need so long to see that a node is free again.
    static constexpr duration least_round_trip = std::chrono::microseconds(100);

    /// Another try begins, or another round of it.
    void begin_round() noexcept { before_us_ = {}; }
    /// A node refused the round. `holder`: as in `outlook`.
    void refused(std::size_t node, vote v, std::size_t holder) noexcept {
        assert(node < max_nodes);
        before_us_[node] = v == vote::queued ? line : holder != 0 ? holder : somebody;
    }
    /// `granted`: the nodes that granted the round.
    bool is_split(const node_lists& nodes, node_mask granted) const noexcept {
        return !granted.empty() && !is_quorum_before_us(nodes, unnamed_ + 1 == most_unnamed);
    }
    /// Whether the votes may turn out to be split: these have not answered yet.
    bool may_be_split(const node_lists& nodes, node_mask granted, node_mask silent) const noexcept {
        return granted.empty() && !silent.empty() && !is_quorum_before_us(nodes, true);
    }

    /// The try was split. When the next one begins; nothing where the time is over.
    std::optional<time_point> rest(const node_lists& nodes, duration round_trip,
                                   std::uint64_t random, time_point now) noexcept;
    /// When a try ends that is under way then: from the first rest on; before it, no instant.
    time_point ends_at() const noexcept { return ends_at_; }
    bool is_over(time_point now) const noexcept { return rests_ > 0 && now >= ends_at_; }

private:
    // In place of a holder.
    static constexpr std::size_t line = 1;      // other waiters are before it
    static constexpr std::size_t somebody = 2;  // the node does not name it

    static constexpr unsigned most_unnamed = 3;

    bool is_quorum_before_us(const node_lists& nodes, bool counts_unnamed) const noexcept;

    std::array<std::size_t, max_nodes> before_us_{};  // 0: nobody
    time_point ends_at_{};
    unsigned rests_ = 0;
    unsigned unnamed_ = 0;  // tries in a row that a quorum refused without a name: below the most
};

/// How long a leader that fails at once stays away before it campaigns again. A term that ends
/// within `at_once` counts as a failure. Each failure in a row doubles the pause, from `first` to
/// `longest`; jitter takes up to half of it.
class term_pauses {
public:
    static constexpr std::chrono::milliseconds at_once{1'000};
    static constexpr std::chrono::milliseconds first{100};
    static constexpr std::chrono::milliseconds longest{30'000};

    /// The pause after a term that lasted so long; 0 after one that was no failure.
    std::chrono::milliseconds after(std::chrono::nanoseconds term, std::uint64_t random) noexcept;

private:
    std::chrono::milliseconds next_ = first;  // `first` to `longest`
};

}  // namespace redlock::core

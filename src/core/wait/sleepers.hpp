// Which waiters sleep, and when the nodes are queried for which of them; sends nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/node_mask.hpp"
#include "value/quorum.hpp"
#include "value/time.hpp"

#include <boost/intrusive/list.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::core {

/// A waiter that was refused and sleeps until a node wakes it or a key runs out. Embedded in its
/// owner: to sleep allocates nothing.
class sleeper {
public:
    sleeper() = default;
    sleeper(const sleeper&) = delete;
    sleeper& operator=(const sleeper&) = delete;

    bool is_asleep() const noexcept { return listed_.is_linked(); }

protected:
    ~sleeper() = default;

private:
    friend class sleepers;
    boost::intrusive::list_member_hook<> listed_;
    std::size_t keys_ = 0;  // that it wants at once
    time_point queried_at_{};  // all nodes, by itself or with the others
};

/// The sleeping waiters of one client. Nodes are queried for each of them now and then: that keeps
/// its place in their queues, and finds a key free that a program deleted without waking it. Their
/// wake-ups arrive on second connections, which the client has as long as there are sleepers, and
/// for some time afterwards.
class sleepers {
public:
    /// A script holds its node up while it runs: this many keys are two to three milliseconds. So
    /// few queries follow each other so closely that a node is busy with them for a seventh of its
    /// time at most.
    static constexpr std::size_t most_at_once = 64;
    static constexpr duration between_batches = std::chrono::milliseconds(20);
    /// How often the nodes are queried for a waiter.
    static constexpr duration refresh = std::chrono::milliseconds(650);
    static constexpr duration jitter = std::chrono::milliseconds(100);
    /// That long, two queries may be lost.
    static constexpr duration shortest_life = std::chrono::seconds(2);
    /// The second connections are kept for so long after the last waiter.
    static constexpr duration patience = std::chrono::seconds(30);

    sleepers() = default;
    sleepers(const sleepers&) = delete;
    sleepers& operator=(const sleepers&) = delete;
    ~sleepers() { clear(); }

    /// It sleeps from now on; it wants so many keys, and queried the nodes at `sent`.
    void add(sleeper& waiter, std::size_t keys, time_point sent) noexcept;
    /// Does nothing if it does not sleep.
    void remove(sleeper& waiter) noexcept;
    void clear() noexcept;

    /// The nodes to query at once for a waiter that queried those of `queried` at `sent`: a node
    /// that was not listened to then may have freed the key since without a wake-up. `listening`:
    /// the nodes that are listened to now.
    node_mask unqueried(node_mask listening, node_mask queried, time_point sent) const noexcept;
    /// How long a node keeps a waiter in its queue without another query for it: `shortest_life`,
    /// unless so many sleep that to query for all of them so often would keep the nodes busy; but no
    /// longer than `longest`.
    duration entry_life(duration longest) const noexcept;

    /// When to call `take_due` next: when the first is due, but so many at once that a batch is
    /// always some milliseconds from the next. `random`: a word.
    time_point next_query(time_point now, std::uint64_t random) const noexcept;
    /// The nodes are queried now for those that are due, which are passed to `take`. With them go
    /// waiters that are due before long: one that began alone joins the others from then on.
    template <class Take>
    void take_due(time_point now, Take take) {
        const auto last = end_of_due(now);
        for (auto at = asleep_.begin(); at != last; ++at) {
            at->queried_at_ = now;
            take(*at);
        }
        asleep_.splice(asleep_.end(), asleep_, asleep_.begin(), last);
    }
    template <class Take>
    void for_each(Take take) {
        for (sleeper& one : asleep_) take(one);
    }

    /// The second connections are needed. True if they have to be opened.
    bool open(time_point now) noexcept;
    /// Whether they are to be closed, since no waiter has needed them for so long; from then on
    /// they count as closed.
    bool close_if_idle(time_point now) noexcept;
    void close() noexcept { is_open_ = false; }
    /// The node is listened to from now on; nothing that it published before has arrived. True if it
    /// is to be queried for all sleepers at once. Otherwise they are too many, and all of them are
    /// due: `next_query` is earlier from now on.
    bool listens(std::size_t node, time_point now) noexcept;
    /// Whether the client listened to the node before a query at `sent` went out, and still does:
    /// then it has missed nothing that the node published since the query before that one.
    bool was_listening(std::size_t node, node_mask listening, time_point sent) const noexcept {
        return listening.contains(node) && listening_since_[node] < sent;
    }

private:
    using list = boost::intrusive::list<
        sleeper, boost::intrusive::member_hook<sleeper, boost::intrusive::list_member_hook<>,
                                               &sleeper::listed_>>;

    bool is_hurried(const sleeper& one) const noexcept { return one.queried_at_ <= hurried_at_; }
    list::iterator end_of_due(time_point now) noexcept;

    list asleep_;  // first those whose last query is longest ago
    std::size_t keys_ = 0;  // that they want
    std::array<time_point, max_nodes> listening_since_{};
    time_point last_needed_{};
    time_point hurried_at_{};  // waiters without a query since then are due
    bool is_open_ = false;
};

}  // namespace redlock::core

// Which acquire of a client has the next turn, and when the nodes are queried for those that sleep.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/clock.hpp"
#include "value/nodes.hpp"

#include <boost/intrusive/list.hpp>

#include <array>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace redlock::core {

class local_queues;

/// A waiter in the queue of a resource, or in the queues of several that it wants at once.
/// Embedded in its owner: waiting in one queue allocates nothing. Only waiters in front send
/// requests to the nodes, in their turn: from `on_turn` until they sleep, rest or leave. The first
/// of a queue is in front, and so are as many behind it as may hold the resource together with it.
/// A waiter in several queues has to be in front in all; since it joins all at once, some waiter
/// always is.
class waiter {
public:
    waiter() = default;
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;

    bool is_queued() const noexcept { return stand_.line != nullptr; }
    /// A node says that the resource, or a slot of it, is free, or shared by those that would share
    /// it, and that this client is first there. `slot`: that is free.
    virtual void on_wake(std::size_t node, std::string_view resource,
                         std::optional<std::uint16_t> slot, time_point now) = 0;

protected:
    ~waiter() = default;

private:
    friend class local_queues;
    /// It is in front, and no lease of this client holds the resource alone. Called once each
    /// time that this becomes true, or is true again after this client gave the resource back, or
    /// after the waiter called `ask`.
    virtual void on_turn(time_point now) = 0;

    using hook = boost::intrusive::list_member_hook<>;
    struct queue;
    /// Its entry in one queue.
    struct stand {
        waiter* waiting = nullptr;  // null before it joined
        queue* line = nullptr;      // null unless it is in one
        bool is_in_front = false;   // only in a queue
        hook listed{};
    };
    enum class state : std::uint8_t { idle, has_turn, rests, rests_in_turn };

    template <class F>
    void for_each_stand(F what) {
        what(stand_);
        for (std::size_t i = 0; i < more_count_; ++i) what(more_[i]);
    }

    stand stand_;
    std::unique_ptr<stand[]> more_;  // in the queues of the resources but the first
    std::size_t more_count_ = 0;  // 0 unless it is queued
    std::size_t behind_ = 0;      // the queues in which it is not in front: never more than before
    state state_ = state::idle;
    std::size_t places_ = 1;  // so many may hold the resource at once, by this waiter
    std::size_t wanted_ = 1;  // places that it takes, of those
    hook due_;  // linked: `on_turn` is due
};

struct waiter::queue {
    using list =
        boost::intrusive::list<stand, boost::intrusive::member_hook<stand, hook, &stand::listed>>;

    list waiters;
    std::string_view resource;  // its key among all queues
    bool is_taken = false;      // a lease of this client holds it, and does not share it
    std::size_t sharing = 0;    // places that leases of this client have, which hold it together
    std::size_t wanted = 0;     // places that those take which are in front
    stand* last_in_front = nullptr;  // null where none is; all those before it are, too
    std::size_t alone = 0;      // of the waiters: those that would not share it
    std::vector<std::uint16_t> freed_slots{};  // that no try of this client has named since
};

/// All queues of one client. Its memory is that of the waiters and one entry for each resource
/// that has waiters, or whose holder had waited. However many resources have waiters, only
/// `most_turns` waiters have their turn at once: the nodes would answer more of them too late.
class local_queues {
public:
    static constexpr std::size_t most_turns = 64;
    /// As `places`: those of readers.
    static constexpr std::size_t any_number = static_cast<std::size_t>(-1);
    /// The `places` of a lock that is shared, or has so many slots; 0: it has none.
    static constexpr std::size_t places_of(bool is_shared, std::uint16_t slots) noexcept {
        if (is_shared) return any_number;
        return slots > 0 ? slots : 1;
    }

    local_queues() = default;
    local_queues(const local_queues&) = delete;
    local_queues& operator=(const local_queues&) = delete;
    ~local_queues() { clear(); }

    /// Enters the waiter at the end of the queues of all these resources, which are distinct, and
    /// at least one. If it is in front then, it gets its turn at the next `give_turns`. `places`:
    /// how many may hold a resource at once; 1: it would hold it alone. `wanted`: of these it takes
    /// so many, and no waiter comes to the front that could have its places only without it.
    void join(waiter& w, std::span<const std::string> resources, std::size_t places = 1,
              std::size_t wanted = 1);
    /// From now on it takes so many places.
    void want(waiter& w, std::size_t places) noexcept;
    /// Removes the waiter from its queues; does nothing if it is in none.
    void leave(waiter& w) noexcept;
    /// Its turn is over, and it waits for a wake-up or for an instant that the nodes named.
    void sleeps(waiter& w) noexcept { set(w, waiter::state::idle); }
    /// The nodes named nothing that it could wait for. It will call `ask` for another turn before
    /// long, unless it `sleeps` first. If no quorum can be reached, this turn lasts until then:
    /// the other waiters would fare no better.
    void rests(waiter& w, bool has_quorum) noexcept {
        assert(w.is_queued());
        set(w, has_quorum ? waiter::state::rests : waiter::state::rests_in_turn);
    }
    /// The number of waiters that rest.
    std::size_t resting() const noexcept { return resting_; }
    /// A waiter in front wants another turn; one that it still has is over.
    void ask(waiter& w) noexcept {
        assert(w.is_queued());
        sleeps(w);
        now_due(w);
    }
    /// A waiter in front was granted its resources: it leaves its queues, and those that can't
    /// share them with it wait until `freed`.
    void taken(waiter& w) noexcept;
    /// A lease of this client is over, whether or not it had waited. Where any number held the
    /// resource together, the last of them frees it. `slot`: the one that it had, or the lowest of
    /// as many as it `had`.
    void freed(std::string_view resource, std::size_t places = 1, std::uint16_t slot = 0,
               std::size_t had = 1) noexcept;
    /// A lease of this client that held the resource alone shares it from now on: waiters in front
    /// that would share it, too, get their turn, as after `freed`.
    void shared(std::string_view resource) noexcept;
    /// Takes out the slot that this client freed last, if no try has named it since: the next try
    /// should name it.
    std::optional<std::uint16_t> freed_slot(std::string_view resource) noexcept;
    /// The first waiter for the resource; null if there is none, or while a lease of this client
    /// holds the resource alone.
    waiter* first(std::string_view resource) const noexcept;
    bool is_in_front(const waiter& w) const noexcept;
    /// Passes a node's wake-up on to all waiters in front.
    void wake(std::string_view resource, std::size_t node, std::optional<std::uint16_t> slot,
              time_point now);
    /// Whether there are waiters that a new acquire must not overtake.
    bool is_waited_for(std::string_view resource, std::size_t places = 1) const noexcept;
    /// The same for any of the resources.
    bool is_any_waited_for(std::span<const std::string> resources,
                           std::size_t places) const noexcept;
    /// Whether a lease of this client that had waited holds any of the resources alone.
    bool is_any_taken(std::span<const std::string> resources) const noexcept;
    /// Whether no resource has waiters, or a holder that had waited.
    bool empty() const noexcept { return queues_.empty(); }
    /// Calls `on_turn` of every waiter whose turn it is, in the order in which the turns came;
    /// also of those whose turn it becomes meanwhile. Once `most_turns` have theirs, the others
    /// get it at a later call.
    void give_turns(time_point now);
    /// Removes all waiters, without calling them.
    void clear() noexcept;

private:
    using queue = waiter::queue;
    using stand = waiter::stand;
    struct hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    queue* find(std::string_view resource) const noexcept;
    void enter(stand& at, waiter& w, std::string_view resource);
    void remove(stand& at) noexcept;
    void now_due(waiter& w) noexcept;
    void all_due(queue& l) noexcept;
    void move_up(queue& l) noexcept;
    void tidy(queue& l) noexcept;
    static void note_freed(std::vector<std::uint16_t>& slots, std::uint16_t slot) noexcept;
    void set(waiter& w, waiter::state to) noexcept;

    std::unordered_map<std::string, queue, hash, std::equal_to<>> queues_;
    boost::intrusive::list<waiter,
                           boost::intrusive::member_hook<waiter, waiter::hook, &waiter::due_>>
        due_;                    // queued, and in front in all their queues
    std::size_t turns_ = 0;  // that are not over
    std::size_t resting_ = 0;
};

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
    std::size_t keys_ = 0;  // that it wants at once: one at least while it sleeps
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
    /// unless so many sleep that to query for all of them so often would keep the nodes busy; but
    /// no longer than `longest`.
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
    /// The node is listened to from now on; nothing that it published before has arrived. True if
    /// it is to be queried for all sleepers at once. Otherwise they are too many, and all of them
    /// are due: `next_query` is earlier from now on.
    bool listens(std::size_t node, time_point now) noexcept;
    /// Whether the client listened to the node before a query at `sent` went out, and still does:
    /// then it has missed nothing that the node published since the query before that one.
    bool was_listening(std::size_t node, node_mask listening, time_point sent) const noexcept {
        assert(node < max_nodes);
        return listening.contains(node) && listening_since_[node] < sent;
    }

private:
    using list = boost::intrusive::list<
        sleeper, boost::intrusive::member_hook<sleeper, boost::intrusive::list_member_hook<>,
                                               &sleeper::listed_>>;

    bool is_hurried(const sleeper& one) const noexcept { return one.queried_at_ <= hurried_at_; }
    list::iterator end_of_due(time_point now) noexcept;

    list asleep_;  // first those whose last query is longest ago
    std::size_t keys_ = 0;  // that they want, all together
    std::array<time_point, max_nodes> listening_since_{};  // the latest time, of each node
    time_point last_needed_{};
    time_point hurried_at_{};  // waiters without a query since then are due
    bool is_open_ = false;
};

}  // namespace redlock::core

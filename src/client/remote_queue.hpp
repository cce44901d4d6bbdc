// Queries the nodes for the waiters that sleep; when, and for which of them, its machine says.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/call.hpp"
#include "client/context.hpp"
#include "client/listener.hpp"
#include "client/node_tracker.hpp"
#include "client/session.hpp"
#include "core/queue.hpp"
#include "core/retry.hpp"
#include "wire/lock.hpp"

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <array>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// A waiter at the head of its queue that was refused. It sleeps until a node wakes it or a key
/// runs out.
class remote_waiter : public operation, public core::waiter, public core::sleeper {
public:
    /// How many keys it wants at once.
    virtual std::size_t keys() const noexcept = 0;
    /// The query about each of them. A waiter that a query enters in the nodes' queues notes that
    /// in `entered`.
    virtual wire::wait_request request(std::size_t key) const = 0;
    virtual void entered(node_mask nodes) = 0;
    /// A query goes out: what these nodes will have `answered` is newer than their wake-ups so
    /// far.
    virtual void queried(node_mask nodes) = 0;
    /// When the node would grant the key; or when it will have a vote, if it has none.
    virtual void answered(std::size_t node, const core::outlook& what, time_point now) = 0;
};

using remote_waiter_ptr = boost::intrusive_ptr<remote_waiter>;

/// Not thread-safe: like the engine that it is a part of.
class remote_queue {
public:
    remote_queue(context& shared, node_sessions& nodes, node_listeners& listeners,
                 node_tracker& tracker, core::local_queues& local)
        : shared_(&shared),
          nodes_(&nodes),
          listeners_(&listeners),
          tracker_(&tracker),
          local_(&local) {}
    remote_queue(const remote_queue&) = delete;
    remote_queue& operator=(const remote_queue&) = delete;

    /// The id for a waiter that the nodes enter in their queues; `shares`: it would share the key;
    /// `permits`: it wants so many slots.
    std::string next_id(bool shares, std::uint16_t permits);
    /// How long a node keeps a waiter in its queue without another query for it.
    duration entry_life() const noexcept { return asleep_.entry_life(wire::longest_entry_life); }
    /// The nodes on which a wake-up would arrive: only there may a waiter be entered.
    node_mask listening() const noexcept { return listeners_->listening(); }
    /// From now on the queue queries the nodes for the waiter now and then, and they wake it. At
    /// `sent` the waiter queried those of `queried` itself. What the others answered may have
    /// changed since without a wake-up.
    void put_to_sleep(remote_waiter& waiter, node_mask queried, time_point sent, time_point now);
    void wake(remote_waiter& waiter) noexcept { asleep_.remove(waiter); }
    /// Sends no further queries.
    void close() noexcept;
    /// The execution context is gone: removes all waiters, without calling them.
    void clear() noexcept;

    /// Listens to the nodes, as far as they can be reached, for half a minute from now on or
    /// longer. False if it listens already, or soon will.
    bool listen(time_point now);
    /// Why the node could not be listened to when that was tried last; null where it could, or was
    /// not tried.
    const wire::failure* why_deaf(std::size_t node) const noexcept {
        assert(node < deaf_.size());
        return deaf_[node] ? &*deaf_[node] : nullptr;
    }

    // From the listeners, through the engine.
    void on_deaf(std::size_t node, const wire::failure& why) {
        assert(node < deaf_.size());
        deaf_[node] = why;
    }
    void on_listening(std::size_t node, time_point now);
    /// Wakes the waiters in front for that resource.
    void on_message(std::size_t node, std::string_view resource, time_point now);

private:
    class question;

    void on_tick(time_point now);
    void arm(time_point now);
    using waiters = std::vector<remote_waiter_ptr>;
    void ask(const waiters& about, node_mask nodes, time_point now);

    context* shared_;
    node_sessions* nodes_;
    node_listeners* listeners_;
    node_tracker* tracker_;
    core::local_queues* local_;
    core::sleepers asleep_;
    std::array<std::optional<wire::failure>, max_nodes> deaf_{};  // none while it is listened to
    std::uint64_t last_id_ = 0;                                   // of a waiter: never used twice
    alarm<remote_queue> tick_{*this, &remote_queue::on_tick};
};

}  // namespace redlock::detail

// Requests to the nodes, the operations that wait for the answers, and what these may have left
// there.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/context.hpp"
#include "core/lease.hpp"
#include "value/clock.hpp"
#include "value/memory.hpp"
#include "value/nodes.hpp"
#include "value/options.hpp"
#include "wire/failure.hpp"
#include "wire/lock.hpp"
#include "wire/request.hpp"
#include "wire/resp/reply.hpp"

#include <redlock/detail/recycling.hpp>

#include <boost/intrusive/list.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// A request or a command that was handed to nodes. `round` distinguishes what a call handed out:
/// each time that it did, and the requests of one time if there are several. An answer to an
/// earlier time must not count for a later one. A node that took the call reports once per
/// `round`: a reply or a failure.
///
/// The count is thread-safe because a call may be cancelled from any thread.
class call : public boost::intrusive_ref_counter<call, boost::thread_safe_counter> {
public:
    call() = default;
    call(const call&) = delete;
    call& operator=(const call&) = delete;
    virtual ~call() = default;

    virtual void on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                          time_point now) = 0;
    virtual void on_failure(std::size_t node, std::uint32_t round, const wire::failure& why,
                            time_point now) = 0;
    /// The reply came after all, when the failure had been reported.
    virtual void on_late_reply(std::size_t, std::uint32_t, const resp::reply&, time_point) {}

    /// Whether it is still worth sending. Called when it was queued before it could be sent, and
    /// when the node had lost its scripts.
    virtual bool is_wanted(std::uint32_t round) const noexcept = 0;
    /// The ttl of the lease that it is about: a node has less time where that is short.
    virtual duration lease_ttl(std::uint32_t /*round*/) const noexcept { return duration::max(); }
    /// Writes it for a node again: a request as it stands now, a command of its own with the
    /// script's text in place of its SHA1. False where it calls no script.
    virtual bool write_again(std::size_t, std::uint32_t, wire::request&, time_point) const {
        return false;
    }
    /// Whether it is owed to a node whose connection breaks before it answered.
    virtual bool is_owed(std::size_t) const noexcept { return false; }
    /// What was owed to a node has gone out to it.
    virtual void on_paid(time_point /*now*/) {}
    /// Whether it begins a lease, for which a release may be owed later.
    virtual bool begins_lease() const noexcept { return false; }
};

using call_ptr = boost::intrusive_ptr<call>;

/// The vote of a node that failed.
inline void note_failure(node_vote& vote, const wire::failure& why) {
    vote.answer = why.answer;
    vote.error = why.error;
    vote.detail = why.detail;
}

struct client_parts;

/// Takes itself out of the list that it is in when it is destroyed.
using list_hook = boost::intrusive::list_member_hook<
    boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// One thing that a caller, or the client itself, waits for. It is alive while the engine lists it,
/// which is until the end of the turn in which it finished, while a call of it is on its way, or
/// its caller still may cancel it.
class operation : public call, public recycled {
public:
    /// Begins. Called once, by `engine::begin`.
    virtual void start(time_point now) = 0;
    /// It is known which nodes may vote, as well as it will be: for operations passed to
    /// `operation_host::await_settled`.
    virtual void on_settled(time_point) {}
    /// The client is closed: for operations passed to `operation_host::await_closed`.
    virtual void on_closed(error_code) {}
    /// Our own clock stood still for `gap`: the time since the command was sent is longer by it.
    virtual void shorten(duration /*gap*/) {}
    /// Ends it early, if it has not ended: nothing of it stays behind on the nodes.
    virtual void cancel(error_code why, time_point now) = 0;
    /// Whether a caller waits for it. False for what the client does by itself.
    virtual bool has_caller() const noexcept { return true; }
    /// Drops the completion without calling it: the execution context is gone.
    virtual void discard() noexcept = 0;

protected:
    bool is_over() const noexcept { return is_over_; }
    /// It ends, and its client forgets it at the end of the turn. False where it had ended before.
    bool leave() noexcept;
    /// What the operation may use of its client, from `start` on.
    client_parts& client() const noexcept {
        assert(client_ != nullptr);
        return *client_;
    }

private:
    friend class engine;
    bool is_over_ = false;
    client_parts* client_ = nullptr;  // null before `start`
    list_hook listed_;
};

/// It sends nothing by itself, so nothing is ever answered.
class quiet_operation : public operation {
    void on_reply(std::size_t, std::uint32_t, const resp::reply&, time_point) final {}
    void on_failure(std::size_t, std::uint32_t, const wire::failure&, time_point) final {}
    bool is_wanted(std::uint32_t) const noexcept final { return false; }
};

using operation_ptr = boost::intrusive_ptr<operation>;

/// A place in the queues of some nodes.
struct place_in_queue {
    std::string id;
    std::uint64_t ticket = 0;  ///< 0: it has no place.
    node_mask nodes{};         ///< Where an entry may be.
};

/// What most have not.
struct uncommon_traces {
    std::vector<recycled_string> others{};  ///< Of several keys those behind the first.
    place_in_queue place{};                 ///< Of the waiter that it is of.
};

/// The traces of it, and under which key, value and place in the queues.
struct footprint : core::traces {
    const wire::lock_kind* kind = nullptr;  ///< Of static storage; null where nothing was sent.
    recycled_string key;
    recycled_string value;
    slot_number slot{};     ///< Of which that is the key.
    rare<uncommon_traces> also{};

    /// The node let the waiter out of its queue.
    void left_queue_of(std::size_t node) {
        if (!also->place.nodes.contains(node)) return;
        also.edit().place.nodes.erase(node);
        if (also->place.nodes.empty()) also.edit().place = {};
        if (also->place.nodes.empty() && also->others.empty()) also = {};
    }

    /// To acquire it, or to prolong it.
    wire::lease_request request(duration ttl) const noexcept {
        assert(kind != nullptr && ttl > duration::zero());
        return {key, value, ttl, slot, also->others};
    }
};

}  // namespace redlock::detail

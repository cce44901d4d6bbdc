// A request to the nodes, and the object that waits for the answers; knows no connection.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/time.hpp"
#include "wire/failure.hpp"
#include "wire/request.hpp"
#include "wire/resp/reply.hpp"

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <cstddef>
#include <cstdint>

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

    /// Whether it is still worth sending. Called when it was queued before it could be sent, and
    /// when the node had lost its scripts.
    virtual bool is_wanted(std::uint32_t round) const noexcept = 0;
    /// The ttl of the lease that it is about: a node has less time where that is short.
    virtual duration lease_ttl(std::uint32_t /*round*/) const noexcept { return duration::max(); }
    /// Writes it for a node again: a request as it stands now, a command of its own with the
    /// script's text in place of its SHA1. False where it calls no script.
    virtual bool write_again(std::size_t, std::uint32_t, wire::request&, time_point) const { return false; }
    /// Whether it is owed to a node whose connection breaks before it answered.
    virtual bool is_owed(std::size_t) const noexcept { return false; }
    /// What was owed to a node has gone out to it.
    virtual void on_paid(time_point /*now*/) {}
    /// Whether it begins a lease, for which a release may be owed later.
    virtual bool begins_lease() const noexcept { return false; }
};

using call_ptr = boost::intrusive_ptr<call>;

}  // namespace redlock::detail

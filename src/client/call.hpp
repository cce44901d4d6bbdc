// One command on its way to nodes, and who waits for the answers; knows no connection.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/quorum.hpp"
#include "wire/failure.hpp"
#include "wire/resp/reply.hpp"
#include "wire/tail.hpp"

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::detail {

/// A command that was handed to nodes. `round` tells apart the times it was handed out: what comes
/// for an earlier one must not count for a later one. A node that took the call reports once per
/// round: a reply or a failure.
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

    /// Whether it is still worth sending: asked when it was queued before it could be sent, and when
    /// the node had lost its scripts.
    virtual bool is_wanted(std::uint32_t round) const noexcept = 0;
    /// Whether a queued command that is still wanted must be written again, by `write_with_script`,
    /// since what was written no longer holds.
    virtual bool is_outdated(std::uint32_t) const noexcept { return false; }
    /// Writes the command for a node with the script's text in place of its SHA1, all but the tail
    /// that it returns. Nothing where it calls no script.
    virtual std::optional<wire::tail> write_with_script(std::size_t, std::uint32_t,
                                                        std::string&) const {
        return std::nullopt;
    }
    /// Whether it is owed to a node whose connection breaks before it answered.
    virtual bool is_owed(std::size_t) const noexcept { return false; }
    /// Whether it begins a lease, for which a release may be owed later.
    virtual bool begins_lease() const noexcept { return false; }
};

using call_ptr = boost::intrusive_ptr<call>;

}  // namespace redlock::detail

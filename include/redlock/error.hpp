// Error codes of the library and the conditions they fall under; knows no operation.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/export.hpp>

#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/error_condition.hpp>

#include <type_traits>

namespace redlock {

using boost::system::error_code;

/// Errors of the category `redlock`. The numbers are stable across releases.
///
/// A cancelled operation completes with `boost::asio::error::operation_aborted` instead.
enum class errc {
    contended = 1,           ///< Somebody else holds the resource, or the vote was split.
    no_quorum = 2,           ///< Too few nodes could vote; the votes say why, node by node.
    validity_exhausted = 3,  ///< A quorum granted, but too late for the ttl; given back everywhere.
    not_held = 4,            ///< A quorum says that the key is not ours.
    lost = 5,                ///< The lease ended before the operation did.
    would_deadlock = 6,      ///< The calling thread holds this lock already.
    invalid_argument = 7,    ///< An argument is out of its documented range; nothing was sent.
    client_closed = 8,       ///< The client was closed or destroyed.
    auth_failed = 9,         ///< A node refused the user name or the password.
    script_rejected = 10,    ///< A node refused to run one of the scripts.
    config_invalid = 11,     ///< A configuration did not pass its checks.

    // Causes of one node's vote; never the outcome of a whole operation.
    timed_out = 100,         ///< No answer within `node_timeout`.
    backlog = 101,           ///< Too much waits for this node, or for all, already: nothing was sent.
    protocol_error = 102,    ///< The node answered with bytes that are no valid reply.
    server_error = 103,      ///< The node answered an error of its own (see the vote's detail).
    not_master = 104,        ///< The node is a replica.
    duplicate_node = 105,    ///< Another node of the list is the same server.
    clock_skew = 106,        ///< The node's clock is too far from the median of the nodes.
    in_quarantine = 107,     ///< The node restarted without its data and may not vote yet.
    foreign_data = 108,      ///< A key of ours holds something that this library did not write.
    other_set = 109,         ///< A node belongs to another set of nodes than this client's list.
};

/// Conditions to compare an `error_code` with, when the exact code does not matter.
enum class condition {
    /// The same call may succeed later: contended, no_quorum, validity_exhausted; of one node's
    /// causes timed_out, backlog, in_quarantine and broken connections.
    retryable = 1,
    ownership = 2,      ///< The caller does not, or no longer, own the lock: not_held, lost.
    unreachable = 3,    ///< Nodes could not be asked: no_quorum, timeouts, refused connections.
    configuration = 4,  ///< An operator must act: password, options, scripts, a replica, the set.
};

/// The category of `errc`; its name is "redlock".
REDLOCK_EXPORT const boost::system::error_category& category() noexcept;
/// The category of `condition`; its name is "redlock.condition".
REDLOCK_EXPORT const boost::system::error_category& condition_category() noexcept;

inline error_code make_error_code(errc e) noexcept { return {static_cast<int>(e), category()}; }
inline boost::system::error_condition make_error_condition(condition c) noexcept {
    return {static_cast<int>(c), condition_category()};
}

}  // namespace redlock

template <>
struct boost::system::is_error_code_enum<redlock::errc> : std::true_type {};
template <>
struct boost::system::is_error_condition_enum<redlock::condition> : std::true_type {};

// Error codes of the library and the conditions they fall under; knows no operation.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/export.hpp>

#include <boost/version.hpp>
#if BOOST_VERSION < 108100
#error "redlock needs Boost 1.81 or newer (Debian 12: libboost1.81-dev; its libboost-dev is 1.74)"
#endif

#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/error_condition.hpp>

#include <system_error>
#include <type_traits>

namespace redlock {

using boost::system::error_code;

/// Errors of the category `redlock`. The numbers are stable across releases. Some compare equal to
/// those of the standard, too: `not_held` to `std::errc::operation_not_permitted`, `would_deadlock`
/// to `resource_deadlock_would_occur`, `invalid_argument` to `invalid_argument`, and `contended`
/// both to `timed_out`, for callers that waited, and to `device_or_resource_busy`.
///
/// A cancelled operation completes with `boost::asio::error::operation_aborted` instead.
enum class errc {
    contended = 1,           ///< Another owner holds the resource, or the vote was split.
    no_quorum = 2,           ///< Too few nodes could vote; the votes say why, node by node.
    validity_exhausted = 3,  ///< A quorum answered yes, but too late for the ttl.
    not_held = 4,            ///< A quorum denies that the lease holds the key; or it was released.
    lost = 5,                ///< The lease ended before the operation did.
    /// The call would wait for itself: a `blocking_client` was called from its own thread, or a
    /// thread locked its `mutex` again.
    would_deadlock = 6,
    invalid_argument = 7,    ///< An argument breaks a documented precondition; nothing was sent.
    client_closed = 8,       ///< The client was closed, destroyed or moved from.
    auth_failed = 9,         ///< Of one node: it refused the user name or the password.
    script_rejected = 10,    ///< Of one node: it refused to run one of the scripts.
    config_invalid = 11,     ///< A configuration did not pass its checks.

    // Causes of one node's vote or of an event; never the outcome of a whole operation.
    timed_out = 100,         ///< No answer within `node_timeout`.
    backlog = 101,           ///< Too many requests wait for this node or all; nothing was sent.
    protocol_error = 102,    ///< The node answered with bytes that are no valid reply.
    server_error = 103,      ///< The node answered with an error; the vote's detail quotes it.
    not_master = 104,        ///< The node is a replica.
    duplicate_node = 105,    ///< Another node of the list is the same server.
    clock_skew = 106,        ///< The node's clock stepped, or is too far from the others.
    in_quarantine = 107,     ///< The node restarted without its data and may not vote yet.
    foreign_data = 108,      ///< A key of this library holds what this library did not write.
    other_set = 109,         ///< A node belongs to another set of nodes than this client's list.
    missing_right = 110,     ///< The user may not run a command there, or not on these keys.
    no_credentials = 111,    ///< What was to give the password for the node gave none in time.
};

/// Conditions to compare an `error_code` with if the exact code does not matter. Both enums also
/// compare with `std::error_code`, which is what a `std::system_error` carries.
enum class condition {
    /// The same call may succeed later: contended, no_quorum, validity_exhausted. Of the causes of
    /// one node's vote: timed_out, backlog, in_quarantine and broken connections.
    retryable = 1,
    ownership = 2,      ///< The caller does not own the lock, or not any more: not_held, lost.
    unreachable = 3,    ///< Nodes did not answer: no_quorum, timeouts, refused connections.
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

/// @cond
template <>
struct boost::system::is_error_code_enum<redlock::errc> : std::true_type {};
template <>
struct boost::system::is_error_condition_enum<redlock::condition> : std::true_type {};
template <>
struct std::is_error_code_enum<redlock::errc> : std::true_type {};
template <>
struct std::is_error_condition_enum<redlock::condition> : std::true_type {};
/// @endcond

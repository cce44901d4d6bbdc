// What follows when a node refused what it was sent; knows no command and no reply.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/quorum.hpp"
#include "value/time.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace redlock::core {

/// The errors of a state of the server that passes: the request itself may be fine.
inline constexpr std::array<std::string_view, 8> passing_errors{
    "BUSY", "LOADING", "MASTERDOWN", "MISCONF", "NOREPLICAS", "OOM", "READONLY", "TRYAGAIN"};
/// The server says so where an operator ended the script.
inline constexpr std::string_view killed_script = "Script killed by user";

/// One request, when its answer came.
struct answered_request {
    bool is_connected = false;  ///< Still, to the node that answered.
    bool is_late = false;       ///< Its call has got its failure, after the time-out.
    bool is_owed = false;       ///< The node owes its execution: it is a release of its own key.
    bool is_wanted = false;     ///< Its call says that it is still worth sending.
    bool is_by_hash = false;    ///< It named the script by its hash alone.
    /// The answer is an error to a command of many requests, none of which was done.
    bool is_of_many = false;
};
enum class node_error : std::uint8_t {
    none,          ///< It was done, or refused by a rule of the protocol.
    other,
    passing,       ///< One of `passing_errors`, or the script was ended.
    lacks_script,
    lacks_right,   ///< This user may not do that.
};

/// Whether it is sent once more, at once. A request that is late is over for its caller, but for a
/// release: a node has to get that behind all other commands of its lease. A request that is no
/// longer wanted must not arrive behind its own release. Of many requests this user may lack the
/// right to the key of another one.
constexpr bool is_sent_again(const answered_request& what, node_error error) noexcept {
    const bool may_repeat = !what.is_late || what.is_owed;
    if (!what.is_connected || !may_repeat || !what.is_wanted) return false;
    if (error == node_error::lacks_script) return what.is_by_hash;
    return error == node_error::lacks_right && what.is_of_many;
}

/// What becomes of a release that is not sent again at once.
enum class owed_release : std::uint8_t {
    settled,        ///< Nothing is owed.
    to_connection,  ///< It is owed to the next connection.
    to_rest,        ///< It is sent again after a rest: it was not done, and has to be.
};
constexpr owed_release left_owed(const answered_request& what, node_error error) noexcept {
    if (!what.is_owed) return owed_release::settled;
    // The call of another request of its command ended the connection.
    if (what.is_of_many && !what.is_connected) return owed_release::to_connection;
    if (error == node_error::passing || what.is_of_many) return owed_release::to_rest;
    return owed_release::settled;
}

/// How long after it was sent a request may take a key: much longer than any operation waits for the
/// answer, so that a node which is merely slow does not refuse it.
constexpr duration good_for(duration node_timeout) noexcept {
    return std::max<duration>(4 * node_timeout, std::chrono::seconds(1));
}

}  // namespace redlock::core

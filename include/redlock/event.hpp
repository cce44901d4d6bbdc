// What the client tells whoever watches it; knows no sink but standard error.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/error.hpp>
#include <redlock/export.hpp>
#include <redlock/vote.hpp>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace redlock {

/// What happened. More kinds may join: a switch over them needs a default.
enum class event_kind : std::uint8_t {
    node_up,          ///< The handshake with a node succeeded; `duration` is what it took.
    node_down,        ///< The connection to a node ended or could not be made; `error` says why.
    granted,          ///< A lease was granted; `duration` is since the call, waiting included.
    /// An acquire ended without a lease; `error` and `votes` say why, `duration` is since the call.
    refused,
    renewed,          ///< A lease was prolonged by a quorum.
    renewal_failed,   ///< A renewal reached no quorum; it is tried again until the lease is lost.
    lost,             ///< A lease was lost; `detail` says why, `duration` is since the grant.
    released,         ///< A quorum answered a release; `duration` is from the grant to the call.
    release_owed,     ///< A release could not be sent; it goes first on the next connection.
    /// The client is connected to a node that an operator should look at. Once per node, until it
    /// changes. With an `error`: it has no vote (not_master, duplicate_node, clock_skew, other_set,
    /// in_quarantine), its clock stepped, its round trip exceeds node_timeout, it can't be listened
    /// to for wake-ups, or another client's ttl_max is on its record. Without one: its eviction
    /// policy or persistence may cost locks, its memory is 90 % full or more, or `resource` is held
    /// there by a client that seems to have another key_prefix or fencing off (once per resource,
    /// for 16 of them). `detail` says what was found, what it does to locks and what to do. Of
    /// severity info where no lock is in danger.
    node_reported,
    /// This machine's clock stood still while the clocks of a quorum of nodes went on, as in a
    /// virtual machine that was paused. `duration` is for how long, at most; every lease ends
    /// earlier by it.
    clock_gap,
    /// The client closed before a node had answered all releases; `error` says why, `detail` how
    /// many. They may have been executed; a key that is left expires with its ttl.
    releases_given_up,
};

enum class severity : std::uint8_t { debug, info, warning, error };

/// One event. The views are valid during the call only.
struct event {
    event_kind kind{};
    redlock::severity severity = redlock::severity::info;
    std::string_view resource{};
    std::string_view node{};
    error_code error{};
    std::chrono::microseconds duration{0};
    std::span<const node_vote> votes{};
    std::string_view detail{};
};

REDLOCK_EXPORT std::string_view to_string(event_kind kind) noexcept;
REDLOCK_EXPORT std::string_view to_string(severity s) noexcept;

/// One line for people, without secrets and whole owner ids. Thread-safe.
REDLOCK_EXPORT std::string format(const event& e);

/// An observer for `client_options::on_event` that writes what is at least as severe as `threshold`
/// to standard error, one line each.
REDLOCK_EXPORT void write_to_stderr(const event& e, severity threshold = severity::warning);

}  // namespace redlock

// The events that a client reports to its observer; knows no sink but standard error.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/clock.hpp>
#include <redlock/error.hpp>
#include <redlock/export.hpp>
#include <redlock/vote.hpp>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace redlock {

/// What happened. Later versions may add kinds: a switch over them needs a default.
enum class event_kind : std::uint8_t {
    node_up,          ///< The handshake with a node succeeded, which began at `begin`.
    /// The connection to a node ended or could not be made; `error` says why. Once for each `error`
    /// until the node is up again; for one that stays away also once a minute, and then `detail`
    /// says how often it was tried.
    node_down,
    granted,          ///< A lease was granted; it began with the call, and had all waiting.
    /// An acquire ended without a lease. It began with the call; `error` and `votes` say why.
    refused,
    /// A lease was prolonged by a quorum: a renewal, or the holder extended or shared it. It began
    /// when the request was sent.
    renewed,
    /// A renewal reached no quorum; the client retries until the lease is lost. It began when the
    /// request was sent; `detail` says why, node by node.
    renewal_failed,
    /// A lease was lost; `detail` says why, and what the nodes said where they did not renew it;
    /// it began with the grant.
    lost,
    /// A quorum answered a release; or a lease was destroyed, or its client closed, and the client
    /// gives it back without waiting for the answers. It began with the grant, and `duration` ends
    /// with the call. There is none where a lease was detached, or its release failed.
    released,
    release_owed,     ///< A node did not get, or answer, a release; it is sent on reconnection.
    /// An operator should look at a node to which the client is connected. Reported once per node
    /// and cause, and again if the cause comes back. With an `error`, one of: the node has no vote
    /// (not_master, duplicate_node, clock_skew, other_set, in_quarantine); its clock stepped
    /// (clock_skew); its round trip exceeds node_timeout (timed_out); its record has another
    /// client's ttl_max (config_invalid); the client can't subscribe to wake-ups there. Without an
    /// `error`, one of: its eviction policy or persistence may lose locks; its memory is 90 % full
    /// or more; it is the only node; the file of its password, or one for TLS, can't be used at a
    /// new connection, which uses what was read before; a client that seems to have another
    /// key_prefix, or fencing off, holds `resource` there (once per resource, for the first 16).
    /// `detail` says what was found, how it affects locks, and what to do. The severity is info if
    /// no lock is in danger. Without a node: `client::async_commit` waits for the votes of nodes.
    node_reported,
    /// This machine's clock stood still while the clocks of a quorum of nodes went on, as in a
    /// virtual machine that was paused. `duration` is the longest that the gap can have been;
    /// every lease now ends earlier by that much.
    clock_gap,
    /// The client closed before a node had answered all releases. `detail` says how many it had
    /// not answered, `error` why. The node may have executed them; a key that remains expires with
    /// its ttl.
    releases_given_up,
    /// The clocks of all nodes went back, by `duration` at least. Fences go on above those drawn
    /// before; `detail` says what to do.
    clocks_went_back,
    /// The client's loop was late for a lease, by `duration`: more than a tenth of its ttl. A lease
    /// for which it is later than the validity is lost. At most once a minute.
    loop_lag,
};

enum class severity : std::uint8_t { debug, info, warning, error };

/// One event, reported when it happened. The views are valid only during the call of the observer.
///
/// For a trace: the events of an acquire or an adoption, and of the lease that it was granted, have
/// one `id`. `granted` or `refused` is the call as a whole; `lost` or `released` the lease as a
/// whole; between them lie the renewals.
struct event {
    event_kind kind{};
    redlock::severity severity = redlock::severity::info;
    std::string_view resource{};  ///< Of several: their names, the first of many, for people.
    std::string_view node{};
    error_code error{};
    std::chrono::microseconds duration{0};
    std::span<const node_vote> votes{};
    std::string_view detail{};
    clock::time_point begin{};  ///< Where `duration` counts from; the epoch if it has none.
    std::uint64_t id = 0;       ///< 0 where it is not about one acquire, adoption or lease.
    std::uint64_t parent = 0;   ///< The `acquire_options::parent` of that call.
};

REDLOCK_EXPORT std::string_view to_string(event_kind kind) noexcept;
REDLOCK_EXPORT std::string_view to_string(severity s) noexcept;

/// One line for people to read, without secrets and whole owner ids.
///
/// **Thread safety.** Any thread may call it.
REDLOCK_EXPORT std::string format(const event& e);

/// One JSON object (RFC 8259) on one line, without a line break, secrets and whole owner ids, for a
/// log that programs read. `at` is when the event happened. Its members, of which those that say
/// nothing are left out:
///
/// - "time": `at` in UTC, as "2026-01-31T23:59:59.123Z"; "kind", "severity": the names of the
///   enumerators; "resource", "node", "detail": texts; "duration_us", "id", "parent": whole
///   numbers.
/// - "error": an object with "category", "value" and "message".
/// - "votes": a list of objects with "node", "answer" (the name of the enumerator), "cause" (a
///   sentence for people), "elapsed_us", and where the vote has them "error", "resource",
///   "retry_in_ms" (negative: the key has no expiry) and "fence".
///
/// Later versions may add members. Bytes that are no valid UTF-8 become U+FFFD; characters that a
/// terminal would execute are escaped.
///
/// **Thread safety.** Any thread may call it.
REDLOCK_EXPORT std::string to_json(const event& e, std::chrono::system_clock::time_point at =
                                                       std::chrono::system_clock::now());

/// An observer for `client_options::on_event`. Writes each event that is at least as severe as
/// `threshold` to standard error, as one line.
REDLOCK_EXPORT void write_to_stderr(const event& e, severity threshold = severity::warning);

}  // namespace redlock

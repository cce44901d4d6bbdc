// The spans that a client reports to its caller's tracer; knows no tracer and no exporter.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/clock.hpp>
#include <redlock/error.hpp>
#include <redlock/export.hpp>
#include <redlock/vote.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace redlock {

/// What a span is about. Later versions may add kinds: a switch over them needs a default.
enum class span_kind : std::uint8_t {
    acquire,  ///< From the call of an acquire to its outcome, with all waiting.
    adopt,    ///< From the call of `async_adopt` to its outcome.
    attempt,  ///< One try of an acquire: one round, or two. A child of the acquire.
    /// A lease, from its grant until it is released, let go or lost. A child of the acquire or of
    /// the adoption that was granted it. Its end has an error only where the client ended it:
    /// `lost`, or `client_closed`.
    hold,
    renewal,  ///< The client prolongs a lease: one round, or two. A child of the hold.
    extend,   ///< The holder prolongs a lease, by `async_extend`. A child of the hold.
    /// A lease is given back: until `async_release` completes, also by cancellation; for a lease
    /// that was destroyed, until the nodes have answered as far as they will, or the client is
    /// closed. A child of the hold, which ends when this begins.
    release,
    downgrade,  ///< The holder shares a lease, by `async_downgrade`. A child of the hold.
};

enum class span_edge : std::uint8_t { begin, end };

/// The begin or the end of one span. `client_options::on_span` gets it at that moment, on the
/// client's internal strand. The views are valid only during the call.
///
/// **Parents.** Those of `acquire` and `adopt` are the caller's own numbers, and only those: the
/// `acquire_options::span` of the call, 0 where it gave none. Every other kind's parent is an id of
/// this client. A parent has not ended when its child begins; it may end before the child does.
/// **Ends.** Each span that begins ends exactly once, also when its operation is cancelled, when
/// its lease is lost, and when the client is closed. Only where the execution context is destroyed
/// before the client has closed nobody is called any more: what is open then has no end.
/// **Not spans.** What ends before it is sent to a lease's nodes: an extend or a release of a lease
/// that is over, also of one that was lost. Calls of a client that is closed. What the client gives
/// back after an attempt that failed.
struct span_report {
    span_edge edge{};
    span_kind kind{};
    std::uint64_t id = 0;  ///< Never 0; of one client no two spans have the same.
    clock::time_point when{};

    std::uint64_t parent = 0;     ///< At the begin only.
    std::string_view resource{};  ///< At the begin only; as in `event`.
    std::uint64_t fence = 0;      ///< At the begin of a hold: that of the lease.
    error_code error{};           ///< At the end only: why it failed.
    std::string_view detail{};  ///< At the end only: why a lease was lost, an argument is invalid.
    /// At the end of an acquire, an adoption and an attempt.
    std::span<const node_vote> votes{};
};

REDLOCK_EXPORT std::string_view to_string(span_kind kind) noexcept;

}  // namespace redlock

// Counters of one client; counts nothing itself.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace redlock {

/// Counters since the client was constructed. Each is exact, but they are not all read at the same
/// instant.
struct client_stats {
    std::uint64_t granted = 0;             ///< Leases handed out.
    std::uint64_t contended = 0;           ///< Acquires that ended contended.
    std::uint64_t no_quorum = 0;           ///< Acquires that ended as too few nodes could vote.
    std::uint64_t validity_exhausted = 0;  ///< Acquires whose grants came too late.
    std::uint64_t cancelled = 0;           ///< Acquires cancelled, or ended by closing the client.
    std::uint64_t retries = 0;             ///< Attempts after the first of an acquire.
    std::uint64_t second_rounds = 0;       ///< Second rounds, above a fence that the first met.
    std::uint64_t released = 0;            ///< Leases released by their holder.
    std::uint64_t lost = 0;                ///< Leases lost.
    std::uint64_t renewals = 0;            ///< Times that a quorum prolonged a lease.
    std::uint64_t renewal_failures = 0;    ///< Times that a renewal of a lease failed.
    std::uint64_t leases = 0;              ///< Leases held now.
    std::uint64_t commands = 0;            ///< Commands handed to connections.
    std::uint64_t writes = 0;              ///< Writes to sockets.
    std::uint64_t reads = 0;               ///< Reads from sockets.
    std::uint64_t timeouts = 0;            ///< Commands without an answer in time.
    std::uint64_t late_replies = 0;        ///< Answers to commands that had timed out before.
    std::uint64_t connects = 0;            ///< Handshakes completed.
    std::uint64_t disconnects = 0;         ///< Connections lost, refused or given up.
    std::uint64_t owed_releases = 0;       ///< Releases postponed to the next connection.
};

}  // namespace redlock

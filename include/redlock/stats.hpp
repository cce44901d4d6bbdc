// Counters of one client; knows nothing of who counts.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace redlock {

/// Counts since the client was made. Each is exact; together they are no snapshot of one instant.
struct client_stats {
    std::uint64_t granted = 0;             ///< Leases handed out.
    std::uint64_t contended = 0;           ///< Acquires that ended contended.
    std::uint64_t no_quorum = 0;           ///< Acquires that ended without a quorum able to vote.
    std::uint64_t validity_exhausted = 0;  ///< Acquires whose grants came too late.
    std::uint64_t cancelled = 0;           ///< Acquires cancelled before they ended.
    std::uint64_t retries = 0;             ///< Attempts after the first of an acquire.
    std::uint64_t second_rounds = 0;       ///< Attempts that went above a fence of the first round.
    std::uint64_t released = 0;            ///< Leases given back by their holder.
    std::uint64_t lost = 0;                ///< Leases lost.
    std::uint64_t renewals = 0;            ///< Leases prolonged by a quorum.
    std::uint64_t renewal_failures = 0;    ///< Renewal rounds that reached no quorum.
    std::uint64_t leases = 0;              ///< Leases alive now.
    std::uint64_t commands = 0;            ///< Commands handed to connections.
    std::uint64_t writes = 0;              ///< Writes to sockets.
    std::uint64_t reads = 0;               ///< Reads from sockets.
    std::uint64_t timeouts = 0;            ///< Commands without an answer in time.
    std::uint64_t late_replies = 0;        ///< Answers that came after their time and were dropped.
    std::uint64_t connects = 0;            ///< Handshakes completed.
    std::uint64_t disconnects = 0;         ///< Connections lost, refused or given up.
    std::uint64_t owed_releases = 0;       ///< Releases put off to the next connection.
};

}  // namespace redlock

// Counters and histograms of one client; counts nothing itself.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/export.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock {

/// How many durations lay between fixed bounds, which are the same for all histograms.
struct histogram {
    /// A duration is counted at the first bound that it does not exceed.
    static constexpr std::array<std::chrono::microseconds, 21> bounds{
        {std::chrono::microseconds(50), std::chrono::microseconds(100),
         std::chrono::microseconds(250), std::chrono::microseconds(500),
         std::chrono::milliseconds(1), std::chrono::microseconds(2'500),
         std::chrono::milliseconds(5), std::chrono::milliseconds(10),
         std::chrono::milliseconds(25), std::chrono::milliseconds(50),
         std::chrono::milliseconds(100), std::chrono::milliseconds(250),
         std::chrono::milliseconds(500), std::chrono::seconds(1),
         std::chrono::milliseconds(2'500), std::chrono::seconds(5), std::chrono::seconds(10),
         std::chrono::seconds(30), std::chrono::minutes(1), std::chrono::minutes(10),
         std::chrono::hours(1)}};

    std::array<std::uint64_t, bounds.size() + 1> counts{};  ///< The last: above all bounds.
    std::chrono::microseconds sum{0};                       ///< Of all durations.

    /// How many durations there were.
    std::uint64_t count() const noexcept {
        std::uint64_t all = 0;
        for (const std::uint64_t n : counts) all += n;
        return all;
    }
};

/// What one node does for this client.
struct node_stats {
    std::string name{};               ///< As in votes and events.
    histogram round_trip{};           ///< From sending a command to its answer.
    std::uint64_t owed_releases = 0;  ///< Releases that the node has to get on reconnection.
    std::uint64_t connected = 0;      ///< 1 while the client is connected to it, else 0.
    std::uint64_t votes = 0;          ///< 1 while it may vote, too: see `errc::in_quarantine`.
};

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
    std::uint64_t waiting = 0;             ///< Acquires with a `wait` that go on now.
    std::uint64_t quorum = 0;              ///< 1 while a quorum of nodes may vote, else 0.
    std::uint64_t commands = 0;            ///< Commands handed to connections.
    std::uint64_t writes = 0;              ///< Writes to sockets.
    std::uint64_t reads = 0;               ///< Reads from sockets.
    std::uint64_t timeouts = 0;            ///< Commands without an answer in time.
    std::uint64_t late_replies = 0;        ///< Answers to commands that had timed out before.
    std::uint64_t connects = 0;            ///< Handshakes completed.
    std::uint64_t disconnects = 0;         ///< Connections lost, refused or given up.
    std::uint64_t owed_releases = 0;       ///< Releases postponed to the next connection.

    histogram wait{};       ///< From the call of an acquire to its grant.
    histogram hold{};       ///< From a grant to the end of the lease, by whatever it ended.
    histogram renewal{};    ///< From sending an extension to its success.
    histogram remaining{};  ///< Validity that was left when a lease ended, other than by loss.
    std::vector<node_stats> nodes{};  ///< In the order of the options.
};

/// All of it as OpenMetrics 1.0, whose Content-Type is
/// "application/openmetrics-text; version=1.0.0; charset=utf-8". Every metric begins with
/// "redlock_", durations are in seconds, and the metrics of a node carry its name as the label
/// `node`.
///
/// **Thread safety.** Any thread may call it.
REDLOCK_EXPORT std::string open_metrics(const client_stats& stats);

/// The same metrics in Prometheus' older text form, "text/plain; version=0.0.4", which the textfile
/// collector of node_exporter reads.
///
/// **Thread safety.** Any thread may call it.
REDLOCK_EXPORT std::string prometheus_text(const client_stats& stats);

}  // namespace redlock

// The counters and histograms of a client, each once: its member of `client_stats`, its metric, and
// what it says.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/stats.hpp>

#include <cstdint>
#include <iterator>
#include <string_view>

// X(member, metric, help): a metric of a counter ends in "_total", one of durations in "_seconds".
// Of operations. Counters of one metric stand together, and differ by the label `outcome`.
#define REDLOCK_OUTCOME_COUNTERS(X)                                                               \
    X(granted, "redlock_acquires_total", "Acquires that ended, by their outcome.")                \
    X(contended, "redlock_acquires_total", "")                                                    \
    X(no_quorum, "redlock_acquires_total", "")                                                    \
    X(validity_exhausted, "redlock_acquires_total", "")                                           \
    X(cancelled, "redlock_acquires_total", "")                                                    \
    X(retries, "redlock_retries_total", "Attempts after the first of an acquire.")                \
    X(second_rounds, "redlock_second_rounds_total",                                               \
      "Rounds above a fence that a first round met.")                                             \
    X(released, "redlock_releases_total", "Leases released by their holder.")                     \
    X(lost, "redlock_lost_leases_total", "Leases lost.")                                          \
    X(renewals, "redlock_renewals_total", "Times that a quorum prolonged a lease.")               \
    X(renewal_failures, "redlock_renewal_failures_total",                                         \
      "Times that a renewal of a lease failed.")

// Of connections.
#define REDLOCK_TRAFFIC_COUNTERS(X)                                                               \
    X(commands, "redlock_commands_total", "Commands handed to connections.")                      \
    X(writes, "redlock_writes_total", "Writes to sockets.")                                       \
    X(reads, "redlock_reads_total", "Reads from sockets.")                                        \
    X(timeouts, "redlock_timeouts_total", "Commands without an answer in time.")                  \
    X(late_replies, "redlock_late_replies_total", "Answers to commands that had timed out.")      \
    X(connects, "redlock_connects_total", "Handshakes completed.")                                \
    X(disconnects, "redlock_disconnects_total", "Connections lost, refused or given up.")         \
    X(owed_releases, "redlock_owed_releases_total", "Releases postponed to the next connection.")

// What goes on now.
#define REDLOCK_GAUGES(X)                                                                         \
    X(leases, "redlock_leases", "Leases held now.")                                               \
    X(waiting, "redlock_waiting", "Acquires that wait now.")                                      \
    X(quorum, "redlock_quorum", "1 while a quorum of nodes may vote.")

#define REDLOCK_HISTOGRAMS(X)                                                                     \
    X(wait, "redlock_wait_seconds", "From the call of an acquire to its grant.")                  \
    X(hold, "redlock_hold_seconds", "From a grant to the end of the lease.")                      \
    X(renewal, "redlock_renewal_seconds", "From sending an extension to its success.")            \
    X(remaining, "redlock_remaining_seconds",                                                     \
      "Validity that was left when a lease ended, other than by loss.")

namespace redlock::detail {

template <class T>
struct measured {
    std::string_view name, metric, help;
    T client_stats::*member;
};

#define REDLOCK_MEASURED(member, metric, help) {#member, metric, help, &client_stats::member},
inline constexpr measured<std::uint64_t> outcome_counters[] = {
    REDLOCK_OUTCOME_COUNTERS(REDLOCK_MEASURED)};
inline constexpr measured<std::uint64_t> traffic_counters[] = {
    REDLOCK_TRAFFIC_COUNTERS(REDLOCK_MEASURED)};
inline constexpr measured<std::uint64_t> gauges[] = {REDLOCK_GAUGES(REDLOCK_MEASURED)};
inline constexpr measured<histogram> histograms[] = {REDLOCK_HISTOGRAMS(REDLOCK_MEASURED)};
#undef REDLOCK_MEASURED

// A member that stands in no list would be nowhere.
static_assert(sizeof(client_stats) ==
              (std::size(outcome_counters) + std::size(traffic_counters) + std::size(gauges)) *
                      sizeof(std::uint64_t) +
                  std::size(histograms) * sizeof(histogram) + sizeof(client_stats::nodes));

}  // namespace redlock::detail

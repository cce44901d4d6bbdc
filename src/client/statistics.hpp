// Counts that one thread writes and any thread reads; knows nothing of what is counted.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/error.hpp>
#include <redlock/stats.hpp>

#include <atomic>
#include <cstdint>

namespace redlock::detail {

/// Written by one thread at a time (the strand), so an increment needs no locked instruction.
class counter {
public:
    void add(std::uint64_t n = 1) noexcept {
        value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> value_{0};
};

/// What became of the operations of one client.
struct outcome_counts {
    counter granted, contended, no_quorum, validity_exhausted, cancelled, retries, second_rounds,
        released, lost, renewals, renewal_failures, begun_leases, ended_leases;

    /// An acquire or an adoption ended without a lease.
    void refused(error_code why) noexcept;
};

/// What the connections of one client did.
struct traffic {
    counter commands, writes, reads, timeouts, late_replies, connects, disconnects, owed_releases;
};

/// From any thread.
client_stats read_stats(const outcome_counts& outcomes, const traffic& connections) noexcept;

}  // namespace redlock::detail

// Counts that one thread writes and any thread reads; knows nothing of what is counted.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/time.hpp"

#include <redlock/error.hpp>
#include <redlock/options.hpp>
#include <redlock/stats.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::detail {

/// Written by one thread at a time (the strand), so an increment needs no locked instruction.
class counter {
public:
    void add(std::uint64_t n = 1) noexcept {
        value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    void set(std::uint64_t n) noexcept { value_.store(n, std::memory_order_relaxed); }
    std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> value_{0};
};

/// A histogram that is written and read in the same way.
class duration_counter {
public:
    void add(duration d) noexcept {
        const auto us = std::chrono::duration_cast<std::chrono::microseconds>(
            std::max(d, duration::zero()));
        const auto& bounds = histogram::bounds;
        const auto at = std::lower_bound(bounds.begin(), bounds.end(), us) - bounds.begin();
        counts_[static_cast<std::size_t>(at)].add();
        sum_us_.add(static_cast<std::uint64_t>(us.count()));
    }
    histogram get() const noexcept;

private:
    std::array<counter, histogram::bounds.size() + 1> counts_;
    counter sum_us_;
};

/// What became of the operations of one client.
struct outcome_counts {
    counter granted, contended, no_quorum, validity_exhausted, cancelled, retries, second_rounds,
        released, lost, renewals, renewal_failures, begun_leases, ended_leases, begun_waits,
        ended_waits;
    duration_counter wait, hold, renewal, remaining;

    /// An acquire or an adoption ended without a lease.
    void refused(error_code why) noexcept;
};

/// What the connections of one client did.
struct traffic {
    counter commands, writes, reads, timeouts, late_replies, connects, disconnects, owed_releases;

    // Not kept by the sessions, which end while any thread may read.
    struct node {
        duration_counter round_trip;
        counter owed_now;
    };
    std::array<node, max_nodes> nodes;
};

/// From any thread.
client_stats read_stats(const outcome_counts& outcomes, const traffic& connections,
                        const client_options& options);

}  // namespace redlock::detail

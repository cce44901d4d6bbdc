// Which worker held one resource when, and the figures of that; knows no client and no process.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

/// One acquire that was granted, and its release. Instants are nanoseconds of `redlock::clock`,
/// which all processes of a machine share.
struct turn {
    std::size_t worker = 0;
    std::uint64_t fence = 0;  ///< 0: the lock has none.
    std::int64_t asked_ns = 0;
    std::int64_t granted_ns = 0;
    std::int64_t released_ns = 0;  ///< Just before the release began.
};

/// From when until when the workers ask: a worker that waits at the end still gets its turn.
struct window {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
};

/// What workers that contend for one resource did in one window.
struct contest {
    window when;
    std::size_t workers = 0;
    std::vector<turn> turns;
    std::uint64_t failures = 0;  ///< Acquires and releases.
    double cpu_us = 0;           ///< Of the clients.
};

/// How long each holds.
constexpr std::int64_t section_us = 1'000;

/// What a contest comes to. Rates and fairness are of the turns that ended within the window, waits
/// and CPU of all. Not a number where nothing is to be divided.
struct contest_figures {
    double turns_per_s = 0;
    double turns_times_section = 0;  ///< 1: somebody is always inside.
    double fairness = 0;             ///< Jain's index over turns per worker: 1 is perfect.
    double wait_p50_us = 0;
    double wait_p99_us = 0;
    double wait_p99_over_ideal = 0;  ///< Ideal: each other worker has one turn.
    double cpu_us_per_turn = 0;
    double held_p50_us = 0;
    double next_grant_p50_us = 0;  ///< From a release to the grant that follows, of any worker.
    double handover_p50_us = 0;    ///< The same, where it is another worker.
    double handover_p99_us = 0;
    double changes_of_holder_per_s = 0;
    std::uint64_t turns = 0;
    std::uint64_t failures = 0;
    std::uint64_t overlaps = 0;  ///< Two held at once, or fences that do not rise.
};

contest_figures figures_of(contest what);

}  // namespace bench

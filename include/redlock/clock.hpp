// The clock on which every lease is measured; knows nothing of leases.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/export.hpp>

#include <chrono>

namespace redlock {

/// A steady clock that also counts the time in which the machine is suspended (`CLOCK_BOOTTIME`).
///
/// The keys of a lease expire on the nodes even while the holder's machine is suspended. A clock
/// that stops with the machine would show an expired lease as valid. Time points of different
/// processes on one machine are comparable.
///
/// **Thread safety.** Any thread may call `now()`.
struct clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<clock>;
    static constexpr bool is_steady = true;

    REDLOCK_EXPORT static time_point now() noexcept;
};

}  // namespace redlock

// The clock on which every lease is measured; knows nothing of leases.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/export.hpp>

#include <chrono>

namespace redlock {

/// A steady clock that goes on counting while the machine is suspended (`CLOCK_BOOTTIME`).
///
/// A lease runs on while its holder sleeps, so a clock that stops with the machine would make an
/// expired lease look alive. Time points are comparable between processes of one machine.
/// Thread-safe.
struct clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<clock>;
    static constexpr bool is_steady = true;

    REDLOCK_EXPORT static time_point now() noexcept;
};

}  // namespace redlock

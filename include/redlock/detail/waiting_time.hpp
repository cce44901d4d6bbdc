// How long a lockable waits, from any duration or time point; knows no lock.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

namespace redlock::detail {

/// The wait of a `lock()` for which the user gave no limit, and the longest of any lockable.
inline constexpr std::chrono::milliseconds longest_wait = std::chrono::hours(24 * 365);

/// Rounded up, and neither below zero nor above `longest_wait`.
template <class Rep, class Period>
std::chrono::milliseconds waiting_time(const std::chrono::duration<Rep, Period>& time) {
    // As a floating-point number, since milliseconds can't hold every duration.
    const std::chrono::duration<double> seconds = time;
    if (!(seconds.count() > 0)) return std::chrono::milliseconds(0);
    if (seconds >= longest_wait) return longest_wait;
    return std::chrono::ceil<std::chrono::milliseconds>(time);
}

/// The time from now until `time` by its own clock.
template <class Clock, class Duration>
std::chrono::milliseconds waiting_time(const std::chrono::time_point<Clock, Duration>& time) {
    const auto now = Clock::now();
    if (time <= now) return std::chrono::milliseconds(0);
    // The difference of two time points can overflow.
    const std::chrono::duration<double> until = time.time_since_epoch();
    const std::chrono::duration<double> since = now.time_since_epoch();
    return until - since >= longest_wait ? longest_wait : waiting_time(time - now);
}

}  // namespace redlock::detail

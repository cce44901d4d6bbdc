// The clocks of one machine: one counts the time that it is suspended, one does not; knows no
// lease.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/clock.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace redlock::simulation {

class local_clock {
public:
    /// At `began` it shows `shows`; it gains so many us a second, or loses them where negative.
    local_clock(time_point began, time_point shows, std::int64_t drift_ppm) noexcept
        : began_(began), shows_(shows), drift_ppm_(drift_ppm) {}

    /// CLOCK_BOOTTIME at that instant of the world.
    time_point boot_time(time_point now) const noexcept {
        time_point at = now;
        for (const still& s : stills_) {
            if (now > s.from) at -= std::min(now, s.to) - s.from;
        }
        return running(at);
    }
    /// The first instant of the world at which it shows `local` or later.
    time_point true_time(time_point local) const noexcept {
        if (local == time_point::max()) return local;
        const std::int64_t wanted = (local - shows_).count();
        time_point at = began_ + duration(wanted - gained(wanted));
        // The estimate is off by the square of the drift.
        while (running(at) < local) at += (local - running(at) + duration(1)) / 2;
        while (running(at - duration(1)) >= local)
            at -= (running(at) - local) / 2 + duration(1);
        for (const still& s : stills_) {
            if (at > s.from && s.to != time_point::max()) at += s.to - s.from;
        }
        return at;
    }
    /// CLOCK_MONOTONIC.
    time_point monotonic(time_point now) const noexcept {
        const duration open = is_suspended_ ? boot_time(now) - suspended_at_ : duration(0);
        return boot_time(now) - suspended_ - open;
    }

    /// All of them stand still, as those of a virtual machine that its host paused.
    void stand_still(time_point now) { stills_.push_back({now, time_point::max()}); }
    void go_on(time_point now) noexcept { stills_.back().to = now; }

    void suspend(time_point now) noexcept {
        is_suspended_ = true;
        suspended_at_ = boot_time(now);
    }
    void wake(time_point now) noexcept {
        is_suspended_ = false;
        suspended_ += boot_time(now) - suspended_at_;
    }

private:
    struct still {
        time_point from;
        time_point to;
    };
    // What it shows at that instant if it never stood still.
    time_point running(time_point at) const noexcept {
        const std::int64_t span = (at - began_).count();
        return shows_ + duration(span + gained(span));
    }
    std::int64_t gained(std::int64_t span) const noexcept {
        return span / 1'000'000 * drift_ppm_ + span % 1'000'000 * drift_ppm_ / 1'000'000;
    }

    time_point began_;
    time_point shows_;
    std::int64_t drift_ppm_;
    time_point suspended_at_{};
    duration suspended_{};
    bool is_suspended_ = false;
    std::vector<still> stills_;
};

/// Whose clocks the running thread reads: redlock::clock asks the system, and in a simulated world
/// the system is this. None: the real one.
class clock_in_use {
public:
    clock_in_use(const local_clock& of, time_point now) noexcept;
    ~clock_in_use();
    clock_in_use(const clock_in_use&) = delete;
    clock_in_use& operator=(const clock_in_use&) = delete;

private:
    const local_clock* before_;
    time_point before_now_;
};

}  // namespace redlock::simulation

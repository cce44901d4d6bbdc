// A node's wall clock against the world's time: ahead or behind, stepped, too fast; knows no node.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/time.hpp"

#include <chrono>
#include <cstdint>

namespace redlock::fakes {

class wall_clock {
public:
    /// In us since 1970. Never below zero as long as the offset is not absurd.
    std::int64_t us(time_point now) const noexcept {
        return start_us + offset_us_ + world_us(now) + drifted_us(now);
    }
    std::int64_t ms(time_point now) const noexcept { return us(now) / 1000; }

    /// The first instant, by the world's time, at which it shows `target` or later, as things are.
    time_point when_us(std::int64_t target) const noexcept {
        const std::int64_t ahead = target - us(time_point(std::chrono::microseconds(since_us_)));
        std::int64_t at = since_us_ + ahead - parts_of(ahead, drift_ppm_);
        const auto shows = [this](std::int64_t t) {
            return us(time_point(std::chrono::microseconds(t)));
        };
        // The estimate is off by the square of the drift: walk the rest, halving what is left.
        while (shows(at) < target) at += (target - shows(at) + 1) / 2;
        while (shows(at - 1) >= target) at -= (shows(at - 1) - target) / 2 + 1;
        return time_point(std::chrono::microseconds(at));
    }

    /// How far it is from the clock of a node that is right, drift aside.
    void set_offset(duration by) noexcept { offset_us_ = in_us(by); }
    void step(duration by) noexcept { offset_us_ += in_us(by); }
    /// From now on it gains so many us a second; it loses them where negative.
    void set_drift_ppm(std::int64_t ppm, time_point now) noexcept {
        drifted_us_ = drifted_us(now);
        since_us_ = world_us(now);
        drift_ppm_ = ppm;
    }

private:
    static constexpr std::int64_t start_us = 1'700'000'000'000'000;  // some day in 2023

    static std::int64_t in_us(duration d) noexcept {
        return std::chrono::floor<std::chrono::microseconds>(d).count();
    }
    static std::int64_t world_us(time_point t) noexcept { return in_us(t.time_since_epoch()); }
    static std::int64_t parts_of(std::int64_t whole, std::int64_t ppm) noexcept {
        return whole / 1'000'000 * ppm + whole % 1'000'000 * ppm / 1'000'000;
    }
    std::int64_t drifted_us(time_point now) const noexcept {
        return drifted_us_ + parts_of(world_us(now) - since_us_, drift_ppm_);
    }

    std::int64_t offset_us_ = 0;
    std::int64_t drift_ppm_ = 0;
    std::int64_t since_us_ = 0;    // from when on it drifts like this
    std::int64_t drifted_us_ = 0;  // before
};

}  // namespace redlock::fakes

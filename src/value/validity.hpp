// The arithmetic of validity: how long a lease lasts after its request was sent.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/time.hpp"

#include <algorithm>
#include <chrono>

namespace redlock {

/// How far two true-running clocks may drift apart while a ttl passes.
struct drift_policy {
    double factor = 0.01;
    duration min = std::chrono::milliseconds(2);

    constexpr duration allowance(duration ttl) const noexcept {
        const auto share = static_cast<double>(ttl.count()) * factor;
        auto whole = static_cast<duration::rep>(share);
        if (static_cast<double>(whole) < share) ++whole;  // never less than the exact share
        return duration(whole) + min;
    }
};

/// The instant at which a lease ends whose request went out at `sent`. It may be in the past: a
/// lease is valid at `now` only if now < valid_until(...).
constexpr time_point valid_until(time_point sent, duration ttl, drift_policy drift) noexcept {
    return sent + ttl - drift.allowance(ttl);
}

/// How long before the end of its validity a lease is reported lost at the latest. A timer that rings
/// at the very end would report after it: this is for the machine to wake us.
constexpr duration least_loss_margin(duration ttl) noexcept {
    return std::min<duration>(std::chrono::milliseconds(5), ttl / 20);
}

}  // namespace redlock

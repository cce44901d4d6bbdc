// What a rate limiter answers; knows no nodes.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/clock.hpp>
#include <redlock/refusal.hpp>

#include <chrono>

namespace redlock {

/// Whether one more is allowed, and if not why, and for how long.
struct [[nodiscard]] limit_answer {
    bool allowed = false;
    /// If it is not allowed since the limit is reached: the time until a slot is free on a quorum
    /// of nodes. Others may be faster then. Where others wait before the caller and no such time is
    /// known: the period divided by the limit.
    std::chrono::milliseconds retry_after{0};
    /// If it is allowed: the instant that counts, at which the client had the grant. The call
    /// returns or completes right after it.
    clock::time_point at{};
    /// If it is not allowed: `errc::contended` where the limit is reached, else the error, with one
    /// vote per node; none where no node was queried, by what earlier calls had learned.
    refusal why{};

    explicit operator bool() const noexcept { return allowed; }
};

}  // namespace redlock

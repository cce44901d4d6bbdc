// How late this client's own timers ring; knows no node and no timer.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/time.hpp"

#include <redlock/options.hpp>

#include <algorithm>
#include <chrono>

namespace redlock::core {

/// On a busy machine, in a process that was stopped, or behind a callback that takes long, a client
/// reads late what a node has answered in time. Its timers ring late then, too, and by how much says
/// for how long it did nothing at least. That much passed before the timer was due, perhaps, and as
/// much after it; so each node has twice that more time before it counts as silent.
class own_delay {
public:
    /// For so long a late timer counts.
    static constexpr duration memory = std::chrono::seconds(2);
    /// No more than this is ever added: a machine that is always late still gets a verdict.
    static constexpr duration longest = longest_measured_timeout;

    /// A turn of the client's loop ends, and its first timer is to ring at `due`. Where that is over
    /// already, it is to ring at once.
    void awaits(time_point due, time_point now) noexcept {
        if (now - late_at_ >= memory) late_ = duration::zero();
        if (due == due_) return;
        due_ = due;
        known_at_ = now;
    }
    /// The timers ring.
    void rang(time_point now) noexcept {
        const duration late = std::min(now - std::max(due_, known_at_), longest);
        if (late < late_) return;
        late_ = late;
        late_at_ = now;
    }
    /// How much longer than its time-out a node is waited for.
    duration extra() const noexcept { return std::min(2 * late_, longest); }
    /// When a node is given up that had until `deadline`.
    time_point extended(time_point deadline) const noexcept {
        return deadline == time_point::max() ? deadline : deadline + extra();
    }

private:
    time_point due_ = time_point::max();
    time_point known_at_{};
    duration late_{};  // the longest, lately
    time_point late_at_{};
};

}  // namespace redlock::core

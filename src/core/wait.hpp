// When a refused acquire tries again; knows only what the votes told, and the deadline.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/quorum.hpp"

#include <redlock/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace redlock::core {

/// Sleeps for a jittered back-off of 5 to 100 ms, or until enough keys have run out for a quorum,
/// whichever is first; gives up when its deadline would pass before that.
class wait {
public:
    explicit wait(time_point deadline) noexcept : deadline_(deadline) {}

    /// An attempt was refused for `why` at `now`; `expiries` is what is left of each key that stands
    /// in the way, where a node told it. Returns when to try again, or nothing when waiting is over:
    /// at the deadline, or because another try can't end otherwise.
    std::optional<time_point> refused(error_code why, std::size_t nodes,
                                      std::span<duration> expiries, time_point now,
                                      std::uint64_t random) noexcept;

    time_point deadline() const noexcept { return deadline_; }

private:
    time_point deadline_;
    std::uint32_t tries_ = 0;
};

}  // namespace redlock::core

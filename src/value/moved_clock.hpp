// A clock that a test moves in place of the system's; knows no test.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/export.hpp>

#include <atomic>
#include <cstdint>

namespace redlock::detail {

/// Nanoseconds since the clock's epoch.
using moved_clock = std::atomic<std::int64_t>;

/// From now on `clock::now()` reads this one, in the whole process; null: the system's again.
REDLOCK_EXPORT void use_moved_clock(const moved_clock* by) noexcept;

}  // namespace redlock::detail

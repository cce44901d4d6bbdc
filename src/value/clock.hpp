// The clock that counts suspended time, instants of it, and what one process has once.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/clock.hpp>
#include <redlock/export.hpp>

#include <atomic>
#include <cstdint>
#include <memory>

namespace redlock {

using time_point = clock::time_point;
using duration = clock::duration;

}  // namespace redlock

namespace redlock::detail {

/// Nanoseconds since the clock's epoch.
using moved_clock = std::atomic<std::int64_t>;

/// From now on `clock::now()` reads this one, in the whole process; null: the system's again.
REDLOCK_EXPORT void use_moved_clock(const moved_clock* by) noexcept;

/// From now on a fork is counted, as it is once the library is loaded. Returns 0, or the system's
/// error.
int watch_forks() noexcept;

/// How many forks this process is away from the one that loaded the library. Cheap: no system call.
std::uint32_t process_number() noexcept;

/// A fork copies an object, but not the threads that work for it, and its sockets are the parent's.
class birthplace {
public:
    bool is_here() const noexcept { return number_ == process_number(); }

private:
    std::uint32_t number_ = process_number();
};

/// Keeps what a child process has inherited until it ends, so that it is never destroyed there: to
/// destroy it would wait for threads of the parent, and hang up the parent's connections.
void leave_to_parent(std::shared_ptr<void> what) noexcept;

}  // namespace redlock::detail

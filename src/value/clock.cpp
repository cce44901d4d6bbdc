// The clock that counts suspended time; knows nothing of leases.
// SPDX-License-Identifier: MIT
#include <redlock/clock.hpp>

#include "value/moved_clock.hpp"

#include <ctime>

namespace redlock {

namespace {

std::atomic<const detail::moved_clock*> moved{nullptr};

}  // namespace

void detail::use_moved_clock(const moved_clock* by) noexcept { moved.store(by); }

clock::time_point clock::now() noexcept {
    if (const auto* const by = moved.load(std::memory_order_relaxed)) {
        return time_point(std::chrono::nanoseconds(by->load()));
    }
    // Can't fail: every Linux since 2.6.39 has this clock, and the pointer is good.
    timespec t{};
    ::clock_gettime(CLOCK_BOOTTIME, &t);
    return time_point(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

}  // namespace redlock

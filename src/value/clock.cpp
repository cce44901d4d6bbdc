// The clock that counts suspended time; knows nothing of leases.
// SPDX-License-Identifier: MIT
#include <redlock/clock.hpp>

#include <ctime>

namespace redlock {

clock::time_point clock::now() noexcept {
    // Can't fail: every Linux since 2.6.39 has this clock, and the pointer is good.
    timespec t{};
    ::clock_gettime(CLOCK_BOOTTIME, &t);
    return time_point(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

}  // namespace redlock

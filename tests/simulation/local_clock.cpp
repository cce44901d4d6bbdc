// The system's clocks as a simulated program reads them; linked with --wrap=clock_gettime.
// SPDX-License-Identifier: MIT
#include "simulation/local_clock.hpp"

#include <chrono>
#include <ctime>

namespace redlock::simulation {

namespace {

thread_local const local_clock* clocks = nullptr;
thread_local time_point instant;

}  // namespace

clock_in_use::clock_in_use(const local_clock& of, time_point now) noexcept
    : before_(clocks), before_now_(instant) {
    clocks = &of;
    instant = now;
}

clock_in_use::~clock_in_use() {
    clocks = before_;
    instant = before_now_;
}

extern "C" int __real_clock_gettime(clockid_t which, timespec* to);

// NOLINTNEXTLINE: the linker wants this name
extern "C" int __wrap_clock_gettime(clockid_t which, timespec* to) {
    if (clocks == nullptr) return __real_clock_gettime(which, to);
    const time_point shown =
        which == CLOCK_BOOTTIME ? clocks->boot_time(instant) : clocks->monotonic(instant);
    // Nobody may trust the wall clock: here it is years off, and goes backwards.
    const auto since = which == CLOCK_REALTIME
                           ? std::chrono::hours(24 * 3650) - shown.time_since_epoch()
                           : shown.time_since_epoch();
    const auto whole = std::chrono::floor<std::chrono::seconds>(since);
    to->tv_sec = static_cast<time_t>(whole.count());
    to->tv_nsec = static_cast<long>((since - whole).count());
    return 0;
}

}  // namespace redlock::simulation

// Shifts the wall clock of the process that preloads it, as a shared file says; knows no server.
// SPDX-License-Identifier: MIT
//
// libfaketime cannot do it here: it asks for memory before it is ready, and the allocator that
// redis-server is linked with asks for the time.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

/// What the file holds. To write it while the process runs makes its clock jump.
struct shift {
    std::int64_t offset_us;
    std::int64_t rate_ppm;  ///< So much faster, since `since_us` of the true clock.
    std::int64_t since_us;
};

const volatile shift* given = nullptr;

__attribute__((constructor)) void find_shift() {
    const char* path = std::getenv("REDLOCK_CLOCK_SHIFT");
    const int file = path != nullptr ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void* at = ::mmap(nullptr, sizeof(shift), PROT_READ, MAP_SHARED, file, 0);
    if (at != MAP_FAILED) given = static_cast<const shift*>(at);
    ::close(file);
}

std::int64_t shifted_ns() {
    timespec now{};
    ::syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    const std::int64_t true_ns = now.tv_sec * 1'000'000'000 + now.tv_nsec;
    if (given == nullptr) return true_ns;
    const auto passed_us = true_ns / 1'000 - given->since_us;
    return true_ns + (given->offset_us + passed_us * given->rate_ppm / 1'000'000) * 1'000;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t which, timespec* at) noexcept {
    if (which != CLOCK_REALTIME && which != CLOCK_REALTIME_COARSE) {
        return static_cast<int>(::syscall(SYS_clock_gettime, which, at));
    }
    const auto now = shifted_ns();
    at->tv_sec = now / 1'000'000'000;
    at->tv_nsec = now % 1'000'000'000;
    return 0;
}

int gettimeofday(timeval* at, void*) noexcept {
    const auto now = shifted_ns() / 1'000;
    at->tv_sec = now / 1'000'000;
    at->tv_usec = now % 1'000'000;
    return 0;
}

time_t time(time_t* at) noexcept {
    const time_t now = shifted_ns() / 1'000'000'000;
    if (at != nullptr) *at = now;
    return now;
}

}  // extern "C"

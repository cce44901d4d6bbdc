// What Linux does in its own way; see platform_portable.cpp for other systems.
// SPDX-License-Identifier: MIT
#include "value/platform.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace redlock::detail {

std::chrono::nanoseconds platform::steady_time() noexcept {
    // Can't fail: every Linux since 2.6.39 has this clock, and the pointer is good.
    timespec t{};
    [[maybe_unused]] const int failed = ::clock_gettime(CLOCK_BOOTTIME, &t);
    assert(failed == 0);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

int platform::new_socket(int family, int type, int protocol) noexcept {
    return ::socket(family, type | SOCK_CLOEXEC, protocol);
}

bool platform::make_pipe(std::array<int, 2>& ends) noexcept {
    return ::pipe2(ends.data(), O_CLOEXEC) == 0;
}

platform::event platform::make_event() {
    const int made = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (made < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    return {made, made};
}

// Neither can fail: a counter that stands at its end blocks a write, and nobody counts so far.
void platform::raise(event what) noexcept {
    const std::uint64_t once = 1;
    static_cast<void>(!::write(what.raised_by, &once, sizeof once));
}

void platform::lower(event what) noexcept {
    std::uint64_t count = 0;
    static_cast<void>(!::read(what.number, &count, sizeof count));
}

void platform::close(event what) noexcept { ::close(what.number); }

// It is closed first: the process may have no other one left.
void platform::replace(event parents) noexcept {
    close(parents);
    const int made = ::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    if (made < 0 || made == parents.number) return;
    ::dup3(made, parents.number, O_CLOEXEC);
    ::close(made);
}

}  // namespace redlock::detail

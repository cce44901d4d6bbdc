// What systems do each in its own way: there is a file for Linux, and one for all others.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>

namespace redlock::detail::platform {

/// The time since some instant, which never goes back. On Linux and macOS it counts the time in
/// which the machine is suspended.
std::chrono::nanoseconds steady_time() noexcept;

/// A socket that an executed program does not inherit; -1 with errno where there is none.
int new_socket(int family, int type, int protocol) noexcept;

/// Its end to read comes first. An executed program inherits neither. False with errno.
bool make_pipe(std::array<int, 2>& ends) noexcept;

/// `number` is readable from `raise` to `lower`. Both numbers may be one.
struct event {
    int number;
    int raised_by;
};

/// Throws `std::system_error` where the system has no descriptor left.
event make_event();
void raise(event what) noexcept;
void lower(event what) noexcept;
void close(event what) noexcept;
/// In a child process, which shares the parent's: puts another one, which is raised, in its place.
void replace(event parents) noexcept;

}  // namespace redlock::detail::platform

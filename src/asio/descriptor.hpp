// Keeps file descriptors off the numbers of the standard streams; knows none of their uses.
// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace redlock::detail {

/// Moves `made` to a number that is no standard stream's: where standard error was closed when the
/// program started, the program's messages must not go to a node. Returns a negative `made` as it
/// is, and -1 with errno where no number is left.
inline int beside_standard_streams(int made) noexcept {
    if (made < 0 || made > STDERR_FILENO) return made;
    const int moved = ::fcntl(made, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int why = errno;
    ::close(made);
    errno = why;
    return moved;
}

}  // namespace redlock::detail

// The terminal whose foreground CMD is to have.
// SPDX-License-Identifier: MIT
#include "tools/terminal.hpp"

#include "tools/signals.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace redlock::tool {

namespace {

bool is_pipe(int descriptor) noexcept {
    struct stat what {};
    return ::fstat(descriptor, &what) == 0 && (S_ISFIFO(what.st_mode) || S_ISSOCK(what.st_mode));
}

}  // namespace

terminal::terminal() noexcept : descriptor_(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)) {}

terminal::~terminal() {
    if (exists()) ::close(descriptor_);
}

bool terminal::is_ours() const noexcept { return is_with(::getpgrp()); }

bool terminal::is_with(pid_t group) const noexcept {
    return exists() && ::tcgetpgrp(descriptor_) == group;
}

bool terminal::is_ours_alone() const noexcept {
    return is_ours() && ::getpgrp() == ::getpid() && !is_pipe(STDIN_FILENO) &&
           !is_pipe(STDOUT_FILENO) && !is_pipe(STDERR_FILENO);
}

void terminal::hand_to(pid_t group) const noexcept {
    const signals_blocked from_background(SIGTTOU);  // else it would stop redlock
    if (exists()) ::tcsetpgrp(descriptor_, group);
}

bool terminal::take_back_from(pid_t group) const noexcept {
    if (!is_with(group)) return false;
    hand_to(::getpgrp());
    return true;
}

}  // namespace redlock::tool

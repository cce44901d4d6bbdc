// The terminal whose foreground CMD is to have.
// SPDX-License-Identifier: MIT
#include "tools/terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace redlock::tool {

terminal::terminal() noexcept : descriptor_(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)) {}

terminal::~terminal() {
    if (exists()) ::close(descriptor_);
}

bool terminal::is_ours() const noexcept {
    return exists() && ::tcgetpgrp(descriptor_) == ::getpgrp();
}

void terminal::hand_to(pid_t group) const noexcept {
    if (exists()) ::tcsetpgrp(descriptor_, group);
}

void terminal::take_back_from(pid_t group) const noexcept {
    if (exists() && ::tcgetpgrp(descriptor_) == group) hand_to(::getpgrp());
}

}  // namespace redlock::tool

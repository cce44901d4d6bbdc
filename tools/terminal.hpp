// The terminal whose foreground CMD is to have; knows no lease.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

namespace redlock::tool {

/// The controlling terminal, if there is one. SIGTTOU must be ignored or blocked in this process.
class terminal {
public:
    terminal() noexcept;
    ~terminal();
    terminal(const terminal&) = delete;
    terminal& operator=(const terminal&) = delete;

    bool exists() const noexcept { return descriptor_ >= 0; }
    /// Whether redlock's own process group is in the foreground.
    bool is_ours() const noexcept;
    /// Puts a process group in the foreground. Async-signal-safe.
    void hand_to(pid_t group) const noexcept;
    /// Puts redlock back there, if `group` is.
    void take_back_from(pid_t group) const noexcept;

private:
    int descriptor_;
};

}  // namespace redlock::tool

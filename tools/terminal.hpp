// The terminal whose foreground CMD is to have; knows no lease.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

namespace redlock::tool {

/// The controlling terminal, if there is one.
class terminal {
public:
    terminal() noexcept;
    ~terminal();
    terminal(const terminal&) = delete;
    terminal& operator=(const terminal&) = delete;

    bool exists() const noexcept { return descriptor_ >= 0; }
    /// Whether redlock's own process group is in the foreground.
    bool is_ours() const noexcept;
    /// Whether `group` is in the foreground.
    bool is_with(pid_t group) const noexcept;
    /// Whether no other process of redlock's group can want the terminal: redlock leads the group,
    /// and none of its standard streams is a pipe. In a script or a pipeline another process can.
    bool is_ours_alone() const noexcept;
    /// Puts a process group in the foreground. Async-signal-safe.
    void hand_to(pid_t group) const noexcept;
    /// Puts redlock back in the foreground where `group` is there; false where it is not.
    bool take_back_from(pid_t group) const noexcept;

private:
    int descriptor_;
};

}  // namespace redlock::tool

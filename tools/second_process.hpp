// The second process of a run, which is in CMD's group and ends it where redlock can't.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/clock.hpp>

#include <sys/types.h>

namespace redlock::tool {

/// Kills the group when redlock dies. Ends it before the lease does, by TERM and then KILL, also
/// where redlock is stopped or hangs. And it sees which signals came to the whole group.
class second_process {
public:
    /// Throws `std::system_error` where the system refuses the memory that both processes share.
    second_process();
    ~second_process();
    second_process(const second_process&) = delete;
    second_process& operator=(const second_process&) = delete;

    /// Forks it into `group`. False, with `errno`, where the system refuses that.
    bool start(pid_t group, pid_t redlock) noexcept;
    void end() noexcept;
    bool is(pid_t process) const noexcept { return process == pid_; }
    /// It has been reaped.
    void has_gone() noexcept { pid_ = -1; }

    /// The group gets TERM at `ask` and KILL at `kill`, unless later times are set before.
    void hold_until(clock::time_point ask, clock::time_point kill) noexcept;
    /// Whether it has ended the group because the time was over.
    bool has_acted() const noexcept;
    /// Whether SIGINT, SIGQUIT or SIGTSTP came to the whole group since this was last called for
    /// it: by a key of the terminal, or from a process of the group (`kill 0`).
    bool saw(int signal) noexcept;

private:
    struct shared;
    [[noreturn]] static void watch(pid_t group, pid_t redlock, shared& common) noexcept;

    shared* shared_;
    pid_t pid_ = -1;
};

}  // namespace redlock::tool

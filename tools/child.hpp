// CMD and its process group: started, signalled, reaped; knows no lease.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/signals.hpp"
#include "tools/terminal.hpp"

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace redlock::tool {

using environment = std::vector<std::pair<std::string, std::string>>;

/// CMD in a process group of its own. If redlock dies, the kernel kills CMD, but nothing that CMD
/// started. What leaves the group (setsid, a shell with job control) is out of reach.
class child {
public:
    /// `given` and `screen` outlive it.
    child(const inherited_signals& given, const terminal& screen) noexcept
        : given_(&given), screen_(&screen) {}
    ~child();
    child(const child&) = delete;
    child& operator=(const child&) = delete;

    /// Throws `std::system_error` where no process can be made. A command that can't be executed
    /// shows as its end, with `exec_error`.
    void start(const std::vector<std::string>& command, const environment& additions,
               bool foreground);

    /// Also the id of the group.
    pid_t pid() const noexcept { return pid_; }
    /// To every process of the group.
    void send(int signal) const noexcept;

    enum class news { none, stopped, ended };
    /// Reaps whatever has ended, also orphans that CMD left behind; call it at each SIGCHLD.
    news reap() noexcept;
    int stop_signal() const noexcept { return stop_signal_; }
    /// No process of the group is left, not even one that waits to be reaped.
    bool group_is_gone() const noexcept;

    /// Once it has ended: the status as a shell tells it, and `errno` of a failed exec, else 0.
    bool has_ended() const noexcept { return ended_; }
    int exit_status() const noexcept;
    int exec_error() const noexcept { return exec_error_; }

private:
    [[noreturn]] void become(char* const* arguments, char* const* variables, pid_t parent,
                             bool foreground) const noexcept;
    void read_exec_error() noexcept;

    const inherited_signals* given_;
    const terminal* screen_;
    pid_t pid_ = -1;
    int exec_report_[2] = {-1, -1};  // closed by a successful exec
    int wait_status_ = 0;
    int stop_signal_ = 0;
    int exec_error_ = 0;
    bool ended_ = false;
};

}  // namespace redlock::tool

// CMD and its process group: started, signalled, reaped; and the terminal whose foreground it is to
// have.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/signals.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

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

/// Variables that CMD finds as they are here; without a value: that it does not find.
using environment = std::vector<std::pair<std::string, std::optional<std::string>>>;
/// This process's own environment with these, as "NAME=VALUE".
std::vector<std::string> merged(const environment& additions);
/// As exec takes them: a null pointer is the last. They are good while `texts` is not changed.
std::vector<char*> pointers(std::vector<std::string>& texts);

/// Closes a descriptor that is open, and makes it -1.
void shut(int& descriptor) noexcept;

/// Why CMD could not be run, `why` being the `errno` of exec, and what would be right.
std::string explain_exec(const std::vector<std::string>& command, int why);

/// CMD in a process group of its own. Processes that leave the group (setsid, a shell with job
/// control) or run as another user are out of reach.
///
/// A second process of redlock's own, the watcher, is in the group while CMD runs. If redlock dies,
/// the watcher kills the group; the kernel kills CMD also where the watcher is dead. And it stops
/// when the terminal stops the group. Redlock is its parent, so it learns of the stop; the stop of
/// CMD's own children is reported to CMD only, which may ignore it.
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
    /// To every process of the group that redlock may signal.
    void send(int signal) const noexcept;
    /// Whether CMD, or all that is left of its group, runs as another user (sudo), so that redlock
    /// can't signal it.
    bool is_out_of_reach() const noexcept;

    /// `stopped`: CMD, or, with SIGTTIN or SIGTTOU, any process of its group.
    enum class news { none, stopped, ended };
    /// Reaps whatever has ended, also orphans that CMD left behind; call it at each SIGCHLD.
    news reap() noexcept;
    int stop_signal() const noexcept { return stop_signal_; }
    /// No process of the group is left, not even one that waits to be reaped.
    bool group_is_gone() const noexcept;

    /// Once it has ended: the status as a shell reports it, and `errno` of a failed exec, else 0.
    bool has_ended() const noexcept { return ended_; }
    int exit_status() const noexcept;
    /// The signal that ended it; 0 where it exited.
    int death_signal() const noexcept;
    int exec_error() const noexcept { return exec_error_; }

private:
    [[noreturn]] void become(char* const* arguments, char* const* variables, pid_t parent,
                             bool foreground) const noexcept;
    void start_watcher(pid_t parent) noexcept;
    void end_watcher() noexcept;
    void read_exec_error() noexcept;

    const inherited_signals* given_;
    const terminal* screen_;
    pid_t pid_ = -1;
    pid_t watcher_ = -1;
    int exec_report_[2] = {-1, -1};  // closed by a successful exec
    int wait_status_ = 0;
    int stop_signal_ = 0;
    int exec_error_ = 0;
    bool ended_ = false;
};

}  // namespace redlock::tool

// CMD and its process group: started, signalled, reaped; the terminal whose foreground it is to
// have; and the signs of life that it has to give.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/signals.hpp"
#include "tools/second_process.hpp"

#include <redlock/clock.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <sys/types.h>
#include <termios.h>

#include <chrono>
#include <functional>
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
    /// Has the kernel send SIGTTIN or SIGTTOU to redlock's whole group, as to the group of any
    /// process that uses the terminal in the background; redlock itself does not stop. False where
    /// the kernel stops no such group, because no job control is left for it (an orphaned group).
    bool stop_group_in_background(int signal) const noexcept;
    /// Puts redlock back in the foreground where `group` is there; false where it is not.
    bool take_back_from(pid_t group) const noexcept;
    /// Sets the modes that it had when redlock began, as a shell does after a job that a signal
    /// ended: CMD may have left it without echo, and the shell sees only redlock's status.
    void restore_modes() const noexcept;

private:
    int descriptor_;
    std::optional<termios> modes_{};
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
/// the watcher kills the group; the kernel kills CMD also where the watcher is dead. It ends the
/// group before the lease ends, where redlock does not. And it stops when the terminal stops the
/// group. Redlock is its parent, so it learns of the stop; the stop of
/// CMD's own children is reported to CMD only, which may ignore it.
class child {
public:
    /// `given` and `screen` outlive it. `has_siblings`: the library may start programs, too, for
    /// passwords, and reaps them.
    child(const inherited_signals& given, const terminal& screen, bool has_siblings) noexcept
        : given_(&given), screen_(&screen), has_siblings_(has_siblings) {}
    ~child();
    child(const child&) = delete;
    child& operator=(const child&) = delete;

    /// Throws `std::system_error` where a process can't be made: CMD does not begin without the
    /// watcher. A command that can't be executed shows as its end, with `exec_error`.
    void start(const std::vector<std::string>& command, const environment& additions,
               bool foreground);

    /// Also the id of the group.
    pid_t pid() const noexcept { return pid_; }
    /// The lease is valid until then. The watcher leaves redlock the first half of the margin.
    void hold_until(clock::time_point valid_until, clock::duration margin) noexcept {
        second_.hold_until(valid_until - margin / 2, valid_until - margin / 4);
    }
    /// Whether the watcher has ended it, because redlock stood still.
    bool was_out_of_time() const noexcept { return second_.has_acted(); }
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
    /// Whether a key of the terminal, or a process of the group by `kill 0`, stopped the group:
    /// where CMD has the terminal in place of redlock's group, that is meant for redlock's group.
    bool was_stopped_as_group() noexcept { return second_.saw(stop_signal_); }
    /// No process of the group is left, not even one that waits to be reaped.
    bool group_is_gone() const noexcept;

    /// Once it has ended: the status as a shell reports it, and `errno` of a failed exec, else 0.
    bool has_ended() const noexcept { return ended_; }
    int exit_status() const noexcept;
    /// The signal that ended it; 0 where it exited. And whether that one came to the whole group.
    int death_signal() const noexcept;
    bool died_as_group() const noexcept { return died_as_group_; }
    int exec_error() const noexcept { return exec_error_; }

private:
    [[noreturn]] void become(char* const* arguments, char* const* variables, pid_t parent,
                             bool foreground) const noexcept;
    void begin(pid_t parent);
    void read_exec_error() noexcept;
    bool may_be_sibling(pid_t who) const noexcept;

    const inherited_signals* given_;
    const terminal* screen_;
    bool has_siblings_;
    pid_t pid_ = -1;
    second_process second_;
    int exec_report_[2] = {-1, -1};  // closed by a successful exec
    int permission_[2] = {-1, -1};   // a byte lets CMD begin
    int wait_status_ = 0;
    int stop_signal_ = 0;
    int exec_error_ = 0;
    bool ended_ = false;
    bool died_as_group_ = false;
};

/// The pipe by which signs come. It is opened before the descriptors of redlock's event loop, and
/// CMD's end is the lowest that is free: its number has one digit then, which is all that `>&`
/// takes in some shells, unless redlock itself was started with all of them open.
class sign_pipe {
public:
    /// Opens none if not `wanted`. Throws `std::system_error` where the system refuses it.
    explicit sign_pipe(bool wanted);
    ~sign_pipe();
    sign_pipe(const sign_pipe&) = delete;
    sign_pipe& operator=(const sign_pipe&) = delete;

    int take_own_end() noexcept;
    /// CMD inherits it.
    int command_end() const noexcept { return command_end_; }
    void close_command_end() noexcept;

private:
    int own_end_ = -1;
    int command_end_ = -1;
};

/// Counts the time since the last sign, which is a byte on the pipe.
class watchdog {
public:
    watchdog(boost::asio::io_context& context, std::optional<std::chrono::milliseconds> limit);
    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;

    /// What CMD finds in its environment: nothing without a limit.
    environment variables(const sign_pipe& signs) const;
    /// CMD was started, and inherited its end. Calls `on_silence` once, if a time as long as the
    /// limit passes without a sign. Does nothing without a limit.
    void start(sign_pipe& signs, std::function<void()> on_silence);
    /// CMD was stopped until now, and could give no sign.
    void start_again() noexcept { last_ = std::chrono::steady_clock::now(); }
    void stop();

private:
    void await_sign();
    void await_limit();
    bool read_signs();

    std::optional<std::chrono::milliseconds> limit_;
    std::function<void()> on_silence_;
    std::chrono::steady_clock::time_point last_{};
    boost::asio::posix::stream_descriptor signs_;
    boost::asio::steady_timer timer_;
};

}  // namespace redlock::tool

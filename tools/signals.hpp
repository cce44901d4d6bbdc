// The signal settings that redlock was started with, for CMD to be given; knows no process.
// SPDX-License-Identifier: MIT
#pragma once

#include <signal.h>

#include <initializer_list>
#include <vector>

namespace redlock::tool {

/// Taken once, before anything is changed. What was ignored (nohup, a job in the background of a
/// script) stays ignored, here and in CMD. What was blocked is blocked in CMD only: redlock could
/// neither see CMD end nor be ended.
class inherited_signals {
public:
    inherited_signals() noexcept;

    bool ignores(int signal) const noexcept { return sigismember(&ignored_, signal) == 1; }
    /// Lets every signal reach redlock.
    void unblock_all() const noexcept;
    /// Redlock must not die when the reader of its output is gone (SIGPIPE), nor when a file
    /// reaches the size that `ulimit -f` sets (SIGXFSZ).
    void ignore_own() const noexcept;
    /// In the child, with all signals blocked: back to what redlock was given. Async-signal-safe.
    void restore() const noexcept;

private:
    sigset_t mask_;
    sigset_t ignored_;
};

/// Those of the signals that this process does not ignore.
std::vector<int> not_ignored(std::initializer_list<int> signals);

/// Ends this process by `signal`, as if it were not handled, without a core file.
[[noreturn]] void die_of(int signal) noexcept;

/// Blocks all signals, or some, in this thread while the object exists.
class signals_blocked {
public:
    signals_blocked() noexcept;
    explicit signals_blocked(int signal) noexcept;
    explicit signals_blocked(const sigset_t& signals) noexcept;
    ~signals_blocked();
    signals_blocked(const signals_blocked&) = delete;
    signals_blocked& operator=(const signals_blocked&) = delete;

private:
    sigset_t before_;
};

/// Takes a pending `signal` in this thread now. Its default action applies.
void take_pending(int signal) noexcept;

}  // namespace redlock::tool

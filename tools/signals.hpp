// The signal settings that redlock was started with, for CMD to be given; knows no process.
// SPDX-License-Identifier: MIT
#pragma once

#include <signal.h>

namespace redlock::tool {

/// Taken once, before anything is changed. What was ignored (nohup, a job in the background of a
/// script) stays ignored, here and in CMD.
class inherited_signals {
public:
    inherited_signals() noexcept;

    bool ignores(int signal) const noexcept { return sigismember(&ignored_, signal) == 1; }
    /// Redlock itself must neither die nor stop because nobody reads what it says.
    void ignore_own() const noexcept;
    /// In the child, with all signals blocked: back to what redlock was given. Async-signal-safe.
    void restore() const noexcept;

private:
    sigset_t mask_;
    sigset_t ignored_;
};

/// Blocks every signal in this thread for as long as it lives.
class signals_blocked {
public:
    signals_blocked() noexcept;
    ~signals_blocked();
    signals_blocked(const signals_blocked&) = delete;
    signals_blocked& operator=(const signals_blocked&) = delete;

private:
    sigset_t before_;
};

}  // namespace redlock::tool

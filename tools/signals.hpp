// The signal settings that redlock was started with, for CMD to be given; and SIGTSTP and SIGCONT
// as the kernel keeps them, for redlock to stop and go on with its job.
// SPDX-License-Identifier: MIT
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <signal.h>

#include <functional>
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

/// Blocks both signals while it exists, and reads them: of the two the kernel keeps only the later
/// pending. Handlers would queue both, in the order of their numbers. Redlock would then stop after
/// it was continued, and nobody would continue it again.
class job_control {
public:
    using handler = std::function<void(int signal)>;

    /// `on_signal` runs for each signal, except for those that `given` ignores.
    job_control(boost::asio::io_context& context, const inherited_signals& given,
                handler on_signal);

    /// Stops this process, or its whole process group, as `signal` (SIGTSTP, SIGTTIN, SIGTTOU)
    /// stops a program that does not handle it, and returns after SIGCONT. Returns at once if
    /// SIGCONT came already.
    void stop(int signal, bool whole_group) const noexcept;
    /// Whether SIGCONT came and has not been read. A signal that stops would take it away.
    bool is_continued() const noexcept;
    void close();

private:
    void await();

    const signals_blocked blocked_;
    handler on_signal_;
    boost::asio::posix::stream_descriptor pending_;
};

}  // namespace redlock::tool

// The signal settings that redlock was started with, for CMD to be given.
// SPDX-License-Identifier: MIT
#include "tools/signals.hpp"

#include "tools/exit_status.hpp"

#include <boost/asio/error.hpp>

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace redlock::tool {

namespace {

sigset_t only(int signal) noexcept {
    sigset_t out;
    sigemptyset(&out);
    sigaddset(&out, signal);
    return out;
}

bool is_ignored(int signal) noexcept {
    struct sigaction now {};
    return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

sigset_t those_of(const inherited_signals& given) {
    sigset_t out;
    sigemptyset(&out);
    for (const int s : {SIGTSTP, SIGCONT}) {
        if (!given.ignores(s)) sigaddset(&out, s);
    }
    return out;
}

int open_pending(const sigset_t& signals) {
    const int descriptor = ::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
    if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
    return descriptor;
}

}  // namespace

inherited_signals::inherited_signals() noexcept {
    ::sigprocmask(SIG_SETMASK, nullptr, &mask_);
    sigemptyset(&ignored_);
    for (int s = 1; s < NSIG; ++s) {
        if (is_ignored(s)) sigaddset(&ignored_, s);
    }
}

void inherited_signals::unblock_all() const noexcept {
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void inherited_signals::ignore_own() const noexcept {
    for (const int s : {SIGPIPE, SIGXFSZ}) ::signal(s, SIG_IGN);
}

void inherited_signals::restore() const noexcept {
    for (int s = 1; s < NSIG; ++s) {
        struct sigaction now {};
        if (::sigaction(s, nullptr, &now) != 0) continue;  // a number that the C library keeps
        struct sigaction wanted {};
        wanted.sa_handler = ignores(s) ? SIG_IGN : SIG_DFL;
        if (now.sa_handler != wanted.sa_handler) ::sigaction(s, &wanted, nullptr);
    }
    ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

std::vector<int> not_ignored(std::initializer_list<int> signals) {
    std::vector<int> out;
    for (const int s : signals) {
        if (!is_ignored(s)) out.push_back(s);
    }
    return out;
}

void die_of(int signal) noexcept {
    ::prctl(PR_SET_DUMPABLE, 0);
    struct sigaction plain {};
    plain.sa_handler = SIG_DFL;
    ::sigaction(signal, &plain, nullptr);
    const sigset_t one = only(signal);
    ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
    ::raise(signal);
    ::_exit(signalled + signal);
}

signals_blocked::signals_blocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}

signals_blocked::signals_blocked(int signal) noexcept : signals_blocked(only(signal)) {}

signals_blocked::signals_blocked(const sigset_t& signals) noexcept {
    ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
}

signals_blocked::~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void take_pending(int signal) noexcept {
    const sigset_t one = only(signal);
    sigset_t before;
    ::pthread_sigmask(SIG_UNBLOCK, &one, &before);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

job_control::job_control(boost::asio::io_context& context, const inherited_signals& given,
                         handler on_signal)
    : blocked_(those_of(given)),
      on_signal_(std::move(on_signal)),
      pending_(context, open_pending(those_of(given))) {
    await();
}

// Reads only when the handler runs: until then `stop` sees a SIGCONT.
void job_control::await() {
    pending_.async_wait(pending_.wait_read, [this](boost::system::error_code ec) {
        if (ec) return;
        signalfd_siginfo next{};
        const bool is_one = ::read(pending_.native_handle(), &next, sizeof next) == sizeof next;
        if (is_one) on_signal_(static_cast<int>(next.ssi_signo));
        if (pending_.is_open()) await();
    });
}

void job_control::stop(int signal, bool whole_group) const noexcept {
    if (is_continued()) return;
    struct sigaction plain {};
    struct sigaction before {};
    plain.sa_handler = SIG_DFL;
    ::sigaction(signal, &plain, &before);
    ::kill(whole_group ? 0 : ::getpid(), signal);
    take_pending(signal);
    ::sigaction(signal, &before, nullptr);
}

bool job_control::is_continued() const noexcept {
    sigset_t pending;
    return ::sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1;
}

void job_control::close() { pending_.close(); }

}  // namespace redlock::tool

// The signal settings that redlock was started with, for CMD to be given.
// SPDX-License-Identifier: MIT
#include "tools/signals.hpp"

#include "tools/exit_status.hpp"

#include <sys/prctl.h>
#include <unistd.h>

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

}  // namespace redlock::tool

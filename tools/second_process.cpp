// The second process of a run, which is in CMD's group and ends it where redlock can't.
// SPDX-License-Identifier: MIT
#include "tools/second_process.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <new>
#include <system_error>

namespace redlock::tool {

namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

std::uint64_t bit(int signal) noexcept { return std::uint64_t{1} << signal; }

std::int64_t now_ns() noexcept { return clock::now().time_since_epoch().count(); }

// All that the process calls is async-signal-safe.

void add(sigset_t& to, std::initializer_list<int> signals) noexcept {
    for (const int s : signals) sigaddset(&to, s);
}

// Whether the terminal or a process of this group sent it.
bool is_of_group(const siginfo_t& what) noexcept {
    return what.si_code == SI_KERNEL || what.si_pid == ::getpgrp() ||
           ::getpgid(what.si_pid) == ::getpgrp();
}

// Counts the time in which the machine is suspended, too.
class alarm_clock {
public:
    alarm_clock() noexcept {
        sigevent by_signal{};
        by_signal.sigev_notify = SIGEV_SIGNAL;
        by_signal.sigev_signo = SIGALRM;
        exists_ = ::timer_create(CLOCK_BOOTTIME, &by_signal, &timer_) == 0;
    }
    void set(std::int64_t at) noexcept {
        constexpr std::int64_t second = 1'000'000'000;
        itimerspec when{};
        if (at != never) when.it_value = {at / second, std::max<long>(at % second, 1)};
        if (exists_) ::timer_settime(timer_, TIMER_ABSTIME, &when, nullptr);
    }
    // The longest time to wait for its signal: forever, where there is one.
    const timespec* longest_wait() const noexcept { return exists_ ? nullptr : &step_; }

private:
    timer_t timer_{};
    timespec step_{0, 20'000'000};
    bool exists_;
};

}  // namespace

// In memory and not in a pipe: a pipe that nobody reads is full one day, and what it holds is old.
struct second_process::shared {
    std::atomic<std::int64_t> ask{never};  // on redlock::clock, in ns
    std::atomic<std::int64_t> kill{never};
    std::atomic<bool> has_acted{false};
    std::atomic<std::uint64_t> seen{0};  // a bit for each signal
    std::atomic<std::uint32_t> questions{0};
    std::atomic<std::uint32_t> answers{0};
    static_assert(std::atomic<std::int64_t>::is_always_lock_free);
};

second_process::second_process() {
    void* const memory = ::mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    shared_ = new (memory) shared;
}

second_process::~second_process() {
    end();
    ::munmap(shared_, sizeof(shared));
}

bool second_process::start(pid_t group, pid_t redlock) noexcept {
    pid_ = ::fork();
    if (pid_ == 0) watch(group, redlock, *shared_);
    if (pid_ > 0) ::setpgid(pid_, group);
    return pid_ > 0;
}

void second_process::end() noexcept {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
}

void second_process::hold_until(clock::time_point ask, clock::time_point kill) noexcept {
    shared_->kill = kill.time_since_epoch().count();
    shared_->ask = ask.time_since_epoch().count();
}

bool second_process::has_acted() const noexcept { return shared_->has_acted; }

bool second_process::saw(int signal) noexcept {
    constexpr int most_looks = 100;  // it may be stopped
    constexpr timespec between_looks{0, 1'000'000};
    if (pid_ <= 0) return false;
    const auto question = ++shared_->questions;
    ::kill(pid_, SIGUSR1);
    for (int i = 0; i < most_looks && shared_->answers != question; ++i) {
        ::nanosleep(&between_looks, nullptr);
    }
    return (shared_->seen.fetch_and(~bit(signal)) & bit(signal)) != 0;
}

// Every signal is blocked when it begins.
void second_process::watch(pid_t group, pid_t redlock, shared& common) noexcept {
    if (::setpgid(0, group) != 0) ::_exit(0);  // the group has ended
    ::close_range(0, ~0U, 0);  // an open end of a pipe would keep its reader waiting
    sigset_t to_group;  // others may send these to the group, too, and SIGALRM and SIGUSR1
    sigset_t awaited;
    sigset_t stopping;
    for (sigset_t* const set : {&to_group, &awaited, &stopping}) sigemptyset(set);
    add(to_group, {SIGINT, SIGQUIT, SIGTSTP});
    add(awaited, {SIGINT, SIGQUIT, SIGTSTP, SIGUSR1, SIGALRM});
    // Redlock is its parent, and sees it stop with the group.
    add(stopping, {SIGTTIN, SIGTTOU});
    for (const int s : {SIGTTIN, SIGTTOU}) ::signal(s, SIG_DFL);
    ::sigprocmask(SIG_UNBLOCK, &stopping, nullptr);
    ::prctl(PR_SET_PDEATHSIG, SIGUSR1);
    alarm_clock timer;
    std::int64_t kill_at = never;  // a renewal that comes after TERM moves it no more
    siginfo_t what{};
    while (::getppid() == redlock && now_ns() < kill_at) {
        if (!common.has_acted && now_ns() >= common.ask) {
            common.has_acted = true;
            kill_at = common.kill;
            ::kill(0, SIGTERM);
            ::kill(0, SIGCONT);  // one that sleeps can't obey
        }
        timer.set(common.has_acted ? kill_at : common.ask.load());
        int signal = ::sigtimedwait(&awaited, &what, timer.longest_wait());
        const auto question = common.questions.load();
        constexpr timespec at_once{};
        for (; signal > 0; signal = ::sigtimedwait(&to_group, &what, &at_once)) {
            if (sigismember(&to_group, signal) == 1 && is_of_group(what)) {
                common.seen |= bit(signal);
            }
        }
        common.answers = question;
    }
    ::kill(0, SIGKILL);
    ::_exit(0);
}

}  // namespace redlock::tool

// Forks this program as contending workers and plays fate with them.
// SPDX-License-Identifier: MIT
#include "crew.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <utility>

namespace redlock::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// The child dies with the thread that forks it: the main thread, which lives as long as the run.
pid_t fork_worker(const std::vector<std::string>& words) {
    std::vector<std::string> all{"redlock_chaos", "worker"};
    all.insert(all.end(), words.begin(), words.end());
    std::vector<char*> argv;
    for (auto& word : all) argv.push_back(word.data());
    argv.push_back(nullptr);
    // Signals that arrive before it can listen wait for it.
    sigset_t told;
    sigset_t before;
    ::sigemptyset(&told);
    for (const int number : {SIGUSR1, SIGUSR2, SIGTERM}) ::sigaddset(&told, number);
    ::sigprocmask(SIG_BLOCK, &told, &before);
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child != 0) ::sigprocmask(SIG_SETMASK, &before, nullptr);
    if (child < 0) throw std::runtime_error("fork failed");
    if (child > 0) return child;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(126);
    ::execv("/proc/self/exe", argv.data());
    ::_exit(127);
}

}  // namespace

crew::crew(terms t, judge::checker& judge, std::function<void(const std::string&)> log)
    : terms_(std::move(t)),
      judge_(judge),
      log_(std::move(log)),
      random_(terms_.seed),
      next_fault_(clock::now() + 2s) {
    for (unsigned w = 0; w < terms_.workers; ++w) {
        members_.push_back({w, 0, {}, -1, judge::journal_reader({})});
        start(members_.back());
    }
}

crew::~crew() {
    for (auto& m : members_) {
        if (m.pid <= 0) continue;
        ::kill(m.pid, SIGKILL);
        ::waitpid(m.pid, nullptr, 0);
    }
}

int crew::between(int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random_);
}

void crew::start(member& m) {
    ++m.generation;
    m.name = "w" + std::to_string(m.number) + "." + std::to_string(m.generation);
    m.history = judge::journal_reader(terms_.directory / (m.name + ".history"));
    m.is_paused = false;
    m.is_quiet = false;
    auto options = terms_.each;
    options.name = m.name;
    options.history = m.history.path();
    options.seed = random_();
    options.threads = m.number % 2 == 0 ? 0 : 2;
    m.pid = fork_worker(options.words());
    judge_.began(m.name);
}

void crew::read(member& m) {
    m.history.read([&](const judge::entry& e) {
        if (e.what == judge::entry::kind::quiet) m.is_quiet = true;
        judge_.take(m.number, m.name, e);
    });
}

void crew::read() {
    for (auto& m : members_) {
        expect_alive(m);
        read(m);
    }
}

// A worker ends by a signal, not otherwise.
void crew::expect_alive(member& m) {
    int status = 0;
    if (m.pid <= 0 || ::waitpid(m.pid, &status, WNOHANG) != m.pid) return;
    m.pid = -1;
    judge_.report(
        {m.name + " ended by itself, status " + std::to_string(status), {}, clock::now()});
    bury(m);
}

// Everything it wrote is in its file by now.
void crew::bury(member& m) {
    if (m.pid > 0) {
        ::kill(m.pid, SIGKILL);
        ::waitpid(m.pid, nullptr, 0);
        m.pid = -1;
    }
    read(m);
    judge_.died(m.name);
    if (!terms_.keeps_histories && judge_.violations() == 0) {
        std::filesystem::remove(m.history.path());
    }
    m.due = clock::now() + milliseconds(between(0, 500));
}

void crew::wake(member& m) {
    ::kill(m.pid, SIGCONT);
    m.is_paused = false;
    log_(m.name + " goes on");
}

void crew::step() {
    const auto now = clock::now();
    for (auto& m : members_) {
        if (now < m.due) continue;
        if (m.pid <= 0) {
            start(m);
        } else if (m.is_paused) {
            wake(m);
        }
    }
    if (now < next_fault_) return;
    next_fault_ = now + milliseconds(between(500, 3'000));
    auto& m = members_[static_cast<std::size_t>(between(0, static_cast<int>(members_.size()) - 1))];
    if (m.pid <= 0 || m.is_paused) return;
    if (between(0, 2) == 0) {
        log_(m.name + " is killed");
        bury(m);
        ++kills_;
        return;
    }
    const milliseconds time(between(50, 5'000));
    log_(m.name + " is paused for " + std::to_string(time.count()) + " ms");
    ::kill(m.pid, SIGSTOP);
    m.is_paused = true;
    m.due = now + time;
    ++pauses_;
}

void crew::mend() {
    for (auto& m : members_) {
        if (m.pid <= 0) start(m);
        if (m.is_paused) wake(m);
    }
}

void crew::rest() {
    for (auto& m : members_) {
        m.is_quiet = false;
        ::kill(m.pid, SIGUSR1);
    }
}

bool crew::is_quiet() const {
    return std::all_of(members_.begin(), members_.end(), [](auto& m) { return m.is_quiet; });
}

void crew::resume() {
    for (auto& m : members_) {
        if (m.pid > 0) ::kill(m.pid, SIGUSR2);
    }
}

void crew::end(milliseconds limit) {
    for (auto& m : members_) {
        if (m.pid > 0) ::kill(m.pid, SIGTERM);
    }
    const auto until = clock::now() + limit;
    for (auto& m : members_) {
        int status = 0;
        bool has_ended = m.pid <= 0;
        while (!has_ended && clock::now() < until) {
            has_ended = ::waitpid(m.pid, &status, WNOHANG) == m.pid;
            if (!has_ended) std::this_thread::sleep_for(5ms);
        }
        if (!has_ended) {
            judge_.report({m.name + " did not end by SIGTERM", {}, clock::now()});
        } else if (status != 0) {
            judge_.report({m.name + " failed at its end, status " + std::to_string(status),
                           {},
                           clock::now()});
        }
        if (has_ended) m.pid = -1;
        bury(m);
    }
}

}  // namespace redlock::chaos

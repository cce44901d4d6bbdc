// Writes the history of a command under a lease, as long as it runs; knows no node and no client.
// SPDX-License-Identifier: MIT
#include "inside.hpp"

#include "judge/journal.hpp"

#include <redlock/clock.hpp>

#include <signal.h>
#include <sys/prctl.h>

#include <cstdlib>
#include <stdexcept>

namespace redlock::failover {
namespace {

using namespace std::chrono_literals;
using judge::entry;

std::string from_environment(const char* name) {
    const char* const value = std::getenv(name);
    if (value == nullptr) throw std::invalid_argument(std::string(name) + " is not set");
    return value;
}

// The command is not given the validity: it may rely on the lease now, and for no time to come.
void write_now(judge::journal& history, entry& section, entry::kind what) {
    section.what = what;
    section.at = clock::now();
    section.valid_until = section.at + 1ns;
    history.write(section);
}

bool is_told_to_end(std::chrono::milliseconds within) {
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGTERM);
    const timespec time{.tv_sec = within / 1s, .tv_nsec = within % 1s / 1ns};
    return ::sigtimedwait(&signals, nullptr, &time) == SIGTERM;
}

}  // namespace

int run_inside(const std::vector<std::string>& words) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &signals, nullptr);
    judge::journal history(words.at(1));
    entry section;
    section.section = std::stoull(words.at(2));
    section.resource = from_environment("REDLOCK_RESOURCE");
    section.owner = from_environment("REDLOCK_OWNER") + "@" + words.at(0);
    section.fence = std::stoull(from_environment("REDLOCK_FENCE"));
    write_now(history, section, entry::kind::granted);
    const auto until = section.at + std::chrono::milliseconds(std::stoll(words.at(3)));
    while (clock::now() < until && !is_told_to_end(20ms)) {
        write_now(history, section, entry::kind::trusted);
    }
    write_now(history, section, entry::kind::ended);
    return 0;
}

}  // namespace redlock::failover

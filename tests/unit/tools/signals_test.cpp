// Tests that SIGTSTP and SIGCONT are taken as the kernel keeps them; knows no terminal.
// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "tools/signals.hpp"

#include <boost/asio/io_context.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <vector>

using redlock::tool::inherited_signals;
using redlock::tool::job_control;

namespace {

// In a process of its own, which may stop: how that ended, as waitpid says.
template <class F>
int status_of(F&& what) {
    const pid_t pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        ::setpgid(0, 0);
        ::alarm(10);
        ::_exit(what() ? 0 : 1);
    }
    int status = 0;
    ::waitpid(pid, &status, WUNTRACED);
    if (WIFSTOPPED(status)) {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
    }
    return status;
}

}  // namespace

TEST_CASE("of a stop and a continuation that wait only the later one is taken") {
    const int status = status_of([] {
        boost::asio::io_context context;
        std::vector<int> taken;
        const inherited_signals given;
        job_control job(context, given, [&](int signal) {
            taken.push_back(signal);
            job.close();
        });
        ::kill(::getpid(), SIGTSTP);
        ::kill(::getpid(), SIGCONT);
        context.run();
        return taken == std::vector<int>{SIGCONT};
    });
    CHECK(WIFEXITED(status));
    CHECK(status == 0);
}

TEST_CASE("a process that was continued already does not stop") {
    const int status = status_of([] {
        boost::asio::io_context context;
        const inherited_signals given;
        job_control job(context, given, [](int) {});
        ::kill(::getpid(), SIGCONT);
        context.poll();  // it is ready, and not taken before its handler runs
        ::kill(::getpid(), SIGCONT);
        job.stop(SIGTSTP, false);
        return true;
    });
    CHECK(WIFEXITED(status));
}

TEST_CASE("a stop stops, and the signals stay blocked") {
    const int status = status_of([] {
        boost::asio::io_context context;
        const inherited_signals given;
        job_control job(context, given, [](int) {});
        job.stop(SIGTSTP, false);
        return true;
    });
    CHECK(WIFSTOPPED(status));
    CHECK(WSTOPSIG(status) == SIGTSTP);
}

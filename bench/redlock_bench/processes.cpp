// A contest between processes.
// SPDX-License-Identifier: MIT
#include "processes.hpp"

#include <redlock/clock.hpp>

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <list>
#include <sstream>
#include <stdexcept>
#include <system_error>

extern char** environ;

namespace bench {

namespace {

using namespace std::chrono_literals;

// More than an acquire waits for.
constexpr std::chrono::milliseconds patience = 40s;

void check(bool good, const char* what) {
    if (!good) throw std::system_error(errno, std::generic_category(), what);
}

/// One process; its standard input and output are a socket.
class contender_process {
public:
    explicit contender_process(const std::vector<std::string>& command);
    ~contender_process();
    contender_process(const contender_process&) = delete;
    contender_process& operator=(const contender_process&) = delete;

    void say(const std::string& line);
    std::string next_line();

private:
    int spawn(const std::vector<std::string>& command, int its_end);

    pid_t pid_ = -1;
    int fd_ = -1;
    std::string read_;
    std::size_t begin_ = 0;  // of the next line in what was read
};

contender_process::contender_process(const std::vector<std::string>& command) {
    std::array<int, 2> ends{};
    check(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0, "socketpair");
    fd_ = ends[0];
    const int failed = spawn(command, ends[1]);
    ::close(ends[1]);
    if (failed == 0) return;
    ::close(fd_);
    throw std::system_error(failed, std::generic_category(), command[0]);
}

contender_process::~contender_process() {
    ::close(fd_);
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

int contender_process::spawn(const std::vector<std::string>& command, int its_end) {
    std::vector<char*> argv;
    for (const auto& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, its_end, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, its_end, STDOUT_FILENO);
    const int failed = ::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    return failed;
}

void contender_process::say(const std::string& line) {
    const auto sent = ::send(fd_, line.data(), line.size(), MSG_NOSIGNAL);
    check(sent == static_cast<ssize_t>(line.size()), "send");
}

std::string contender_process::next_line() {
    std::size_t end = 0;
    while ((end = read_.find('\n', begin_)) == std::string::npos) {
        pollfd readable{fd_, POLLIN, 0};
        check(::poll(&readable, 1, static_cast<int>(patience.count())) >= 0, "poll");
        if (readable.revents == 0) throw std::runtime_error("a contender says nothing");
        std::array<char, 65'536> buffer;
        const auto got = ::recv(fd_, buffer.data(), buffer.size(), 0);
        check(got >= 0, "recv");
        if (got == 0) throw std::runtime_error("a contender ended before it was done");
        read_.append(buffer.data(), static_cast<std::size_t>(got));
    }
    std::string line = read_.substr(begin_, end - begin_);
    begin_ = end + 1;
    return line;
}

void gather(contender_process& from, std::size_t worker, contest& into) {
    for (;;) {
        std::istringstream line(from.next_line());
        std::string word;
        line >> word;
        if (word == "done") {
            double cpu_us = 0;
            std::uint64_t failures = 0;
            if (!(line >> cpu_us >> failures)) break;
            into.cpu_us += cpu_us;
            into.failures += failures;
            return;
        }
        turn t;
        t.worker = worker;
        line >> t.fence >> t.asked_ns >> t.granted_ns >> t.released_ns;
        if (word != "turn" || !line) break;
        into.turns.push_back(t);
    }
    throw std::runtime_error("a contender is not understood");
}

}  // namespace

contest contest_of_processes(const std::vector<std::string>& command, std::size_t processes,
                             std::chrono::milliseconds duration) {
    std::list<contender_process> all;
    for (std::size_t i = 0; i < processes; ++i) all.emplace_back(command);
    for (auto& one : all) {
        if (one.next_line() != "ready") throw std::runtime_error("a contender is not ready");
    }
    // Soon, so that all of them know by then.
    const auto begin = redlock::clock::now() + 20ms;
    contest got;
    got.workers = processes;
    got.when.begin_ns = begin.time_since_epoch().count();
    got.when.end_ns = (begin + duration).time_since_epoch().count();
    for (auto& one : all) {
        one.say("go " + std::to_string(got.when.begin_ns) + ' ' + std::to_string(got.when.end_ns) +
                '\n');
    }
    std::size_t worker = 0;
    for (auto& one : all) gather(one, worker++, got);
    return got;
}

}  // namespace bench

// A process of ours and lines to and from it.
// SPDX-License-Identifier: MIT
#include "talking_process.hpp"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
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

}  // namespace

talking_process::talking_process(const std::vector<std::string>& command) : name_(command[0]) {
    std::array<int, 2> ends{};
    check(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0, "socketpair");
    fd_ = ends[0];
    const int failed = spawn(command, ends[1]);
    ::close(ends[1]);
    if (failed == 0) return;
    ::close(fd_);
    throw std::system_error(failed, std::generic_category(), command[0]);
}

talking_process::~talking_process() {
    ::close(fd_);
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

int talking_process::spawn(const std::vector<std::string>& command, int its_end) {
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

void talking_process::say(const std::string& line) {
    const auto sent = ::send(fd_, line.data(), line.size(), MSG_NOSIGNAL);
    check(sent == static_cast<ssize_t>(line.size()), "send");
}

std::string talking_process::next_line() {
    std::size_t end = 0;
    while ((end = read_.find('\n', begin_)) == std::string::npos) {
        pollfd readable{fd_, POLLIN, 0};
        check(::poll(&readable, 1, static_cast<int>(patience.count())) >= 0, "poll");
        if (readable.revents == 0) throw silence(name_ + " says nothing");
        std::array<char, 65'536> buffer;
        const auto got = ::recv(fd_, buffer.data(), buffer.size(), 0);
        check(got >= 0, "recv");
        if (got == 0) throw std::runtime_error(name_ + " ended before it was done");
        read_.append(buffer.data(), static_cast<std::size_t>(got));
    }
    std::string line = read_.substr(begin_, end - begin_);
    begin_ = end + 1;
    return line;
}

}  // namespace bench

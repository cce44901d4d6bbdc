// One run of the redlock command under test; knows no server and no lock.
// SPDX-License-Identifier: MIT
#pragma once

#include "support/run.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace redlock::testing {

/// A folder of its own, removed with the object.
class scratch {
public:
    scratch() {
        std::string name =
            (std::filesystem::temp_directory_path() / "redlock-tool-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
        path_ = name;
    }
    ~scratch() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;

    std::string operator/(const std::string& name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

inline std::string read_file(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Whether a process or, negative, a process group exists.
inline bool is_alive(pid_t pid) { return ::kill(pid, 0) == 0 || errno != ESRCH; }

/// The command, in a process group of its own. It is killed with the object and with the test.
class tool_process {
public:
    struct program {
        std::string path;
    };

    explicit tool_process(const std::vector<std::string>& arguments,
                          const std::vector<int>& ignored_signals = {})
        : tool_process(program{tool()}, arguments, ignored_signals) {}
    /// Another program, treated in the same way.
    tool_process(const program& what, const std::vector<std::string>& arguments,
                 const std::vector<int>& ignored_signals = {}) {
        std::vector<std::string> words{what.path};
        words.insert(words.end(), arguments.begin(), arguments.end());
        std::vector<char*> pointers;
        for (auto& word : words) pointers.push_back(word.data());
        pointers.push_back(nullptr);
        const std::string out = folder_ / "out";
        const std::string err = folder_ / "err";
        pid_ = ::fork();
        if (pid_ < 0) throw std::runtime_error("fork");
        if (pid_ > 0) {
            ::setpgid(pid_, pid_);
            return;
        }
        ::setpgid(0, 0);
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (const char* name : {"REDLOCK_CONFIG", "REDLOCK_NODES"}) ::unsetenv(name);
        for (const int s : {SIGHUP, SIGINT, SIGQUIT}) ::signal(s, SIG_DFL);  // nohup and "&" ignore them
        for (const int s : ignored_signals) ::signal(s, SIG_IGN);
        redirect("/dev/null", STDIN_FILENO, O_RDONLY);
        redirect(out.c_str(), STDOUT_FILENO, O_WRONLY | O_CREAT | O_TRUNC);
        redirect(err.c_str(), STDERR_FILENO, O_WRONLY | O_CREAT | O_TRUNC);
        // What the test's own connections and its caller have open is no part of the run.
        ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
        ::execv(pointers[0], pointers.data());
        ::_exit(99);
    }
    ~tool_process() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    tool_process(const tool_process&) = delete;
    tool_process& operator=(const tool_process&) = delete;

    pid_t pid() const { return pid_; }
    void send(int signal) const { ::kill(pid_, signal); }
    std::string out() const { return read_file(folder_ / "out"); }
    std::string err() const { return read_file(folder_ / "err"); }

    bool has_ended() const {
        siginfo_t what{};
        return ::waitid(P_PID, static_cast<id_t>(pid_), &what, WEXITED | WNOHANG | WNOWAIT) == 0 &&
               what.si_pid == pid_;
    }

    /// Its exit status; -n when signal n ended it. Throws when it does not end in time.
    int wait() {
        int status = 0;
        if (!eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; })) {
            throw std::runtime_error("a process did not end in time: " + err());
        }
        pid_ = -1;
        return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    }

private:
    static std::string tool() {
        const char* const path = std::getenv("REDLOCK_TOOL");
        if (path == nullptr) throw std::runtime_error("REDLOCK_TOOL does not name the command");
        return path;
    }
    static void redirect(const char* path, int descriptor, int flags) {
        const int file = ::open(path, flags | O_CLOEXEC, 0600);
        ::dup2(file, descriptor);
    }

    scratch folder_;
    pid_t pid_ = -1;
};

}  // namespace redlock::testing

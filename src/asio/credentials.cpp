// SPDX-License-Identifier: MIT
#include "asio/credentials.hpp"

#include "value/platform.hpp"
#include "value/text.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <exception>
#include <poll.h>
#include <spawn.h>
#include <string_view>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace redlock::detail {

namespace {

constexpr std::size_t longest_cause = 500;

constexpr std::size_t longest_output = 65536;  // some tokens list all that their owner may

struct descriptor_pair {
    descriptor_pair() {
        if (!platform::make_pipe(ends)) return;
        for (int& end : ends) end = beside_standard_streams(end);
    }
    ~descriptor_pair() {
        shut(0);
        shut(1);
    }
    descriptor_pair(const descriptor_pair&) = delete;
    descriptor_pair& operator=(const descriptor_pair&) = delete;

    bool is_made() const noexcept { return ends[0] >= 0 && ends[1] >= 0; }
    void shut(std::size_t which) {
        if (const int end = std::exchange(ends[which], -1); end >= 0) ::close(end);
    }
    // Returns whether there may be more. Beyond the limit one byte is kept: it shows that.
    bool read_some(std::string& to) {
        std::array<char, 4096> chunk;
        const auto got = ::read(ends[0], chunk.data(), chunk.size());
        if (got < 0 && errno == EINTR) return true;
        if (got <= 0) return false;
        const auto room = longest_output + 1 - to.size();
        to.append(chunk.data(), std::min(static_cast<std::size_t>(got), room));
        return true;
    }

    std::array<int, 2> ends{-1, -1};
};

std::string_view first_line(std::string_view text) {
    text = text.substr(0, text.find('\n'));
    if (text.ends_with('\r')) text.remove_suffix(1);
    return text;
}

// Starts `words` in a process group of its own; returns the error.
int spawn(const std::vector<std::string>& words, int out, int err, pid_t& started) {
    std::vector<char*> pointers;
    for (const auto& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    if (const int error = ::posix_spawn_file_actions_init(&files)) return error;
    if (const int error = ::posix_spawnattr_init(&how)) {
        ::posix_spawn_file_actions_destroy(&files);
        return error;
    }
    // Without one of these it would write its password to where this program writes.
    int error =
        ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (error == 0) error = ::posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    if (error == 0) error = ::posix_spawn_file_actions_adddup2(&files, err, STDERR_FILENO);
#if defined(__GLIBC__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 34)  // elsewhere it inherits what the program leaves open for its children
    if (error == 0) error = ::posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
#endif
#endif
    sigset_t none;
    sigset_t usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGCHLD);
    ::posix_spawnattr_setsigmask(&how, &none);
    ::posix_spawnattr_setsigdefault(&how, &usual);
    ::posix_spawnattr_setpgroup(&how, 0);
    ::posix_spawnattr_setflags(
        &how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (error == 0) {
        error = ::posix_spawnp(&started, pointers[0], &files, &how, pointers.data(), environ);
    }
    ::posix_spawnattr_destroy(&how);
    ::posix_spawn_file_actions_destroy(&files);
    return error;
}

// One run. `run` is for one thread, `stop` for any.
class running_command {
public:
    // Each has up to five descriptors, until it ends: one that hangs in a file system can't be
    // killed.
    static constexpr int most = 100;

    explicit running_command(std::vector<std::string> words)
        : words_(std::move(words)), stopped_(platform::make_event()) {
        ++alive_;
    }
    ~running_command() {
        platform::close(stopped_);
        --alive_;
    }
    running_command(const running_command&) = delete;
    running_command& operator=(const running_command&) = delete;

    static int alive() noexcept { return alive_; }
    credentials_answer run();
    void stop() noexcept;

private:
    bool read_all(descriptor_pair& out, descriptor_pair& err);
    int await_end() noexcept;
    credentials_answer failed(const std::string& how, const char* remedy) const;

    static inline std::atomic<int> alive_{0};

    const std::vector<std::string> words_;
    const platform::event stopped_;
    const birthplace born_;
    std::mutex mutex_;
    pid_t pid_ = 0;  // that it certainly has: it is reaped with the mutex held
    bool is_stopped_ = false;
    std::string out_;
    std::string err_;
};

void running_command::stop() noexcept {
    if (!born_.is_here()) return;  // the process is the parent's
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    if (pid_ != 0) ::kill(-pid_, SIGKILL);
    platform::raise(stopped_);
}

// Until standard output is closed. False where it was stopped, or wrote too much.
bool running_command::read_all(descriptor_pair& out, descriptor_pair& err) {
    while (out.ends[0] >= 0) {
        std::array<pollfd, 3> all{pollfd{out.ends[0], POLLIN, 0}, pollfd{err.ends[0], POLLIN, 0},
                                  pollfd{stopped_.number, POLLIN, 0}};
        if (::poll(all.data(), all.size(), -1) < 0) continue;
        if (all[2].revents != 0) return false;
        if (all[1].revents != 0 && !err.read_some(err_)) err.shut(0);
        if (all[0].revents != 0 && !out.read_some(out_)) out.shut(0);
        if (out_.size() > longest_output) return false;
    }
    return true;
}

// Its status; -1 where the program itself, or the system for it, has taken that away.
int running_command::await_end() noexcept {
    siginfo_t ended{};
    while (::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOWAIT) != 0 &&
           errno == EINTR) {
    }
    const std::lock_guard lock(mutex_);
    ::waitpid(std::exchange(pid_, 0), nullptr, WNOHANG);
    if (ended.si_pid == 0) return -1;  // the program reaped it itself
    return ended.si_code == CLD_EXITED ? ended.si_status << 8 : ended.si_status;
}

credentials_answer running_command::failed(const std::string& how, const char* remedy) const {
    std::string why = name_of_command(words_) + " " + how;
    const auto said = first_line(err_);
    bool is_secret = false;  // it shows a line of what may be the password
    for (std::string_view rest = out_; !rest.empty();) {
        const auto line = first_line(rest);
        is_secret = is_secret || (!line.empty() && said.find(line) != said.npos);
        rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
    }
    if (!said.empty() && !is_secret) why += ", \"" + text::printable(said) + '"';
    return {.why = why + ": " + remedy};
}

credentials_answer running_command::run() {
    constexpr auto* contract = "run it by hand as this user: it has to write the password as its "
                               "first line, and to end with status 0";
    descriptor_pair out;
    descriptor_pair err;
    if (!out.is_made() || !err.is_made()) {
        return failed("can't be started: no descriptor is left", "raise ulimit -n");
    }
    // Without the mutex, for which the strand would wait: where the program's file system hangs,
    // so does this.
    {
        const std::lock_guard lock(mutex_);
        if (is_stopped_) return {};
    }
    pid_t started = 0;
    if (const int error = spawn(words_, out.ends[1], err.ends[1], started)) {
        return failed("can't be started: " + std::generic_category().message(error),
                      "name a program that this user may run, by its path or in PATH");
    }
    {
        const std::lock_guard lock(mutex_);
        pid_ = started;
    }
    out.shut(1);
    err.shut(1);
    const bool is_read = read_all(out, err);
    if (!is_read) stop();
    const int status = await_end();
    if (out_.size() > longest_output) return failed("wrote more than 64 KiB", contract);
    if (!is_read) return {};
    pollfd rest{err.ends[0], POLLIN, 0};
    while (err_.size() <= longest_output && ::poll(&rest, 1, 0) > 0 && err.read_some(err_)) {
    }
    if (status != -1 && WIFSIGNALED(status)) {
        return failed("was ended by signal " + std::to_string(WTERMSIG(status)), contract);
    }
    if (status != -1 && WEXITSTATUS(status) != 0) {
        return failed("exited with status " + std::to_string(WEXITSTATUS(status)), contract);
    }
    const auto password = first_line(out_);
    if (password.empty()) return failed("wrote no password", contract);
    return {.password = std::string(password)};
}

}  // namespace

credentials_question::~credentials_question() {
    try {
        end({.why = "the credentials callback let its request go without an answer: it has to "
                    "call answer or fail"});
    } catch (const std::exception&) {
        // Out of memory: the connection is given up at the deadline.
    }
}

void credentials_question::end(credentials_answer what) {
    std::function<void()> unused;  // destroyed without the mutex
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(is_over_, true)) return;
        unused = std::exchange(then_, nullptr);
    }
    if (what.why.empty() && what.password.empty()) what.why = "the password given is empty";
    what.why = text::printable(what.why, longest_cause);
    auto owner = owner_.lock();
    if (!owner) return;
    wire_owner& to = *owner;
    // The message owns the owner: else the thread that answers may end it, beside its event loop.
    to.put(*new single_mail([owner = std::move(owner), user = user_, number = number_,
                             what = std::move(what)]() mutable {
        user->on_credentials(number, std::move(what));
    }));
}

void credentials_question::abandon() noexcept {
    std::function<void()> then;
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(is_over_, true)) return;
        is_abandoned_ = true;
        then = std::exchange(then_, nullptr);
    }
    if (then) then();
}

void credentials_question::on_abandoned(std::function<void()> what) {
    {
        const std::lock_guard lock(mutex_);
        if (!is_over_) return then_.swap(what);
        if (!is_abandoned_) return;
    }
    if (what) what();
}

std::string name_of_command(const std::vector<std::string>& words) {
    return "password_command " + text::printable(words.front());
}

void run_password_command(const std::vector<std::string>& words, const credentials_request& to) {
    if (running_command::alive() >= running_command::most) {
        to.fail(name_of_command(words) + " was not started: " +
                std::to_string(running_command::most) +
                " earlier runs have not ended; if they can't be killed, look whether the file "
                "system hangs on which it lies");
        return;
    }
    const auto command = std::make_shared<running_command>(words);
    to.on_abandoned([command] { command->stop(); });
    quiet_thread([command, to] {
        credentials_answer got;
        try {
            got = command->run();
        } catch (const std::exception& e) {
            got.why = text::printable(e.what());
        }
        if (got.why.empty()) {
            to.answer(std::move(got.password));
        } else {
            to.fail(std::move(got.why));
        }
    }).detach();
}

}  // namespace redlock::detail

namespace redlock {

const std::string& credentials_request::node() const noexcept { return question_->node(); }

clock::time_point credentials_request::deadline() const noexcept { return question_->deadline(); }

void credentials_request::answer(std::string password, std::string username) const {
    question_->end({.username = std::move(username), .password = std::move(password)});
}

void credentials_request::fail(std::string why) const {
    if (why.empty()) why = "the credentials callback failed";
    question_->end({.why = std::move(why)});
}

void credentials_request::on_abandoned(std::function<void()> what) const {
    question_->on_abandoned(std::move(what));
}

}  // namespace redlock

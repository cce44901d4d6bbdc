// CMD and its process group: started, signalled, reaped; and the signs of life that it has to give.
// SPDX-License-Identifier: MIT
#include "tools/child.hpp"

#include "tools/exit_status.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>

namespace redlock::tool {

namespace asio = boost::asio;

namespace {

void require(bool good, const char* what) {
    if (!good) throw std::system_error(errno, std::generic_category(), what);
}

bool is_pipe(int descriptor) noexcept {
    struct stat what {};
    return ::fstat(descriptor, &what) == 0 && (S_ISFIFO(what.st_mode) || S_ISSOCK(what.st_mode));
}

// systemd's variables that name the one process they are for, as sd_listen_fds(3) and
// sd_watchdog_enabled(3) look at them. Where that is redlock they are CMD's, whose number is known
// after the fork only: here is room for it. Returns where it goes, as long as nothing is moved.
constexpr std::size_t longest_number = 10;
std::vector<char*> make_room_for_number(std::vector<std::string>& variables) {
    const std::string own = std::to_string(::getpid());
    const auto is_set = [&](const std::string& text) {
        return std::find(variables.begin(), variables.end(), text) != variables.end();
    };
    // A second proof of what LISTEN_PID says, which nobody but systemd can make.
    if (is_set("LISTEN_PID=" + own)) {
        std::erase_if(variables, [](const auto& v) { return v.starts_with("LISTEN_PIDFDID="); });
    }
    std::vector<char*> places;
    for (auto& variable : variables) {
        for (const std::string name : {"LISTEN_PID=", "WATCHDOG_PID="}) {
            if (variable != name + own) continue;
            variable.resize(name.size() + longest_number);
            places.push_back(variable.data() + name.size());
            break;
        }
    }
    return places;
}

// The file that exec would take; empty where there is none.
std::string found_in_path(const std::string& program) {
    if (program.find('/') != program.npos) return program;
    const char* const path = std::getenv("PATH");
    std::string_view left = path == nullptr ? "/bin:/usr/bin" : path;
    while (!left.empty()) {
        const auto folder = left.substr(0, left.find(':'));
        const std::string file = std::string(folder.empty() ? "." : folder) + "/" + program;
        if (::access(file.c_str(), X_OK) == 0) return file;
        left.remove_prefix(std::min(folder.size() + 1, left.size()));
    }
    return {};
}

// The file is there, and the program that its first line names is not; else empty.
std::string wrong_interpreter(const std::string& program) {
    std::array<char, 256> begins{};
    std::ifstream(found_in_path(program)).read(begins.data(), begins.size() - 1);
    std::string line = begins.data();
    line.resize(std::min(line.find('\n'), line.size()));
    if (!line.starts_with("#!")) return {};
    const auto begin = std::min(line.find_first_not_of(" \t", 2), line.size());
    const std::string named = line.substr(begin, line.find_first_of(" \t\r", begin) - begin);
    if (line.ends_with('\r')) {
        return "its lines end as on Windows, so that its interpreter is looked for as '" + named +
               "\\r': take the carriage returns away, as in sed -i 's/\\r$//' " + program;
    }
    return "its first line names the interpreter " + named +
           ", which is not here: install that, or name one that is";
}

constexpr int first_with_two_digits = 10;

// Returns the lowest free number that is not below `least`; negative: there is none.
int move_to(int descriptor, int how, int least) noexcept {
    const int moved = ::fcntl(descriptor, how, least);
    const int why = errno;
    ::close(descriptor);
    errno = why;
    return moved;
}

}  // namespace

terminal::terminal() noexcept : descriptor_(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)) {
    termios now{};
    if (exists() && ::tcgetattr(descriptor_, &now) == 0) modes_ = now;
}

terminal::~terminal() {
    if (exists()) ::close(descriptor_);
}

bool terminal::is_ours() const noexcept { return is_with(::getpgrp()); }

bool terminal::is_with(pid_t group) const noexcept {
    return exists() && ::tcgetpgrp(descriptor_) == group;
}

bool terminal::is_ours_alone() const noexcept {
    return is_ours() && ::getpgrp() == ::getpid() && !is_pipe(STDIN_FILENO) &&
           !is_pipe(STDOUT_FILENO) && !is_pipe(STDERR_FILENO);
}

void terminal::hand_to(pid_t group) const noexcept {
    const signals_blocked from_background(SIGTTOU);  // else it would stop redlock
    if (exists()) ::tcsetpgrp(descriptor_, group);
}

bool terminal::stop_group_in_background(int signal) const noexcept {
    struct sigaction noted {};
    struct sigaction before {};
    noted.sa_handler = [](int) {};  // and the call is not repeated after it
    ::sigaction(signal, &noted, &before);
    // Both take and change nothing, if the group is in the foreground by now.
    constexpr int no_action = -1;
    char none = 0;
    const bool is_done = signal == SIGTTIN ? ::read(descriptor_, &none, 0) == 0
                                           : ::tcflow(descriptor_, no_action) == 0;
    const bool can_stop = is_done || errno != EIO;
    ::sigaction(signal, &before, nullptr);
    return can_stop;
}

bool terminal::take_back_from(pid_t group) const noexcept {
    if (!is_with(group)) return false;
    hand_to(::getpgrp());
    return true;
}

void terminal::restore_modes() const noexcept {
    const signals_blocked from_background(SIGTTOU);
    if (modes_) ::tcsetattr(descriptor_, TCSADRAIN, &*modes_);
}

void shut(int& descriptor) noexcept {
    if (descriptor >= 0) ::close(descriptor);
    descriptor = -1;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> out;
    out.reserve(texts.size() + 1);
    for (auto& text : texts) out.push_back(text.data());
    out.push_back(nullptr);
    return out;
}

std::vector<std::string> merged(const environment& additions) {
    std::vector<std::string> out;
    for (const auto& [name, value] : additions) {
        if (value) out.push_back(name + "=" + *value);
    }
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const bool replaced = std::any_of(
            additions.begin(), additions.end(),
            [&](const auto& added) { return text.substr(0, text.find('=')) == added.first; });
        if (!replaced) out.emplace_back(text);
    }
    return out;
}

std::string explain_exec(const std::vector<std::string>& command, int why) {
    const std::string& program = command.front();
    std::string line = program + ": " + std::strerror(why) + ": ";
    const bool is_line = program.find_first_of(" \t\n|&;<>()$`*?\"'") != program.npos;
    if (const auto wrong = why == ENOENT ? wrong_interpreter(program) : ""; !wrong.empty()) {
        return program + ": " + wrong;
    }
    if (command.size() == 1 && is_line) {
        return line + "CMD is one program and its arguments; for a line of the shell give sh -c "
                      "and the line: redlock run RESOURCE -- sh -c 'LINE'";
    }
    return line + "give CMD as a program in PATH or as the path of an executable file";
}

child::~child() {
    second_.end();
    for (int* const ends : {exec_report_, permission_}) {
        shut(ends[0]);
        shut(ends[1]);
    }
}

void child::start(const std::vector<std::string>& command, const environment& additions,
                  bool foreground) {
    // Everything that allocates comes before fork: a resolver's thread may hold the heap's lock.
    std::vector<std::string> words = command;
    std::vector<std::string> variables = merged(additions);
    const auto number_places = make_room_for_number(variables);
    const auto word_pointers = pointers(words);
    const auto variable_pointers = pointers(variables);
    require(::pipe2(exec_report_, O_CLOEXEC | O_NONBLOCK) == 0, "pipe");
    require(::pipe2(permission_, O_CLOEXEC) == 0, "pipe");
    // CMD's orphans come here to be reaped: an unreaped one would keep the group alive.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t parent = ::getpid();
    const signals_blocked until_forked;  // a handler of this process must not run in the child
    pid_ = ::fork();
    require(pid_ >= 0, "fork");
    if (pid_ == 0) {
        const pid_t own = ::getpid();
        for (char* place : number_places) {
            *std::to_chars(place, place + longest_number, own).ptr = '\0';
        }
        become(word_pointers.data(), variable_pointers.data(), parent, foreground);
    }
    // In both processes, because neither may go on before it is done.
    ::setpgid(pid_, pid_);
    if (foreground) screen_->hand_to(pid_);
    begin(parent);
}

// Lets CMD begin, once the watcher is there.
void child::begin(pid_t parent) {
    const bool is_watched = second_.start(pid_, parent);
    const int why = errno;
    shut(exec_report_[1]);
    shut(permission_[0]);
    if (is_watched) {
        [[maybe_unused]] const auto written = ::write(permission_[1], "", 1);
        return shut(permission_[1]);
    }
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    screen_->take_back_from(pid_);
    pid_ = -1;
    errno = why;
    require(false, "fork of the process that watches CMD");
}

// Async-signal-safe calls only.
void child::become(char* const* arguments, char* const* variables, pid_t parent,
                   bool foreground) const noexcept {
    ::setpgid(0, 0);
    if (foreground) screen_->hand_to(::getpid());
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(own_failure);  // it died before the call above
    char byte = 0;
    ::close(permission_[1]);
    if (::read(permission_[0], &byte, 1) != 1) ::_exit(own_failure);
    given_->restore();
    ::execvpe(arguments[0], arguments, variables);
    const int why = errno;
    [[maybe_unused]] const auto written = ::write(exec_report_[1], &why, sizeof why);
    ::_exit(own_failure);
}

void child::send(int signal) const noexcept {
    if (pid_ > 0) ::kill(-pid_, signal);
}

bool child::is_out_of_reach() const noexcept {
    return pid_ > 0 && ::kill(ended_ ? -pid_ : pid_, 0) != 0 && errno == EPERM;
}

// The library's programs lead groups of our session. Orphans of CMD that do so, too, stay as they
// are beside them until redlock ends.
bool child::may_be_sibling(pid_t who) const noexcept {
    return has_siblings_ && who != pid_ && !second_.is(who) && ::getpgid(who) == who &&
           ::getsid(who) == ::getsid(0);
}

child::news child::reap() noexcept {
    news what = news::none;
    for (;;) {
        siginfo_t next{};
        const int kinds = WEXITED | WSTOPPED | WNOHANG | WNOWAIT;
        if (::waitid(P_ALL, 0, &next, kinds) != 0 && errno == EINTR) continue;
        if (next.si_pid == 0) return what;
        // Behind one that is not ours there may be some of CMD's group.
        const pid_t whom = may_be_sibling(next.si_pid) ? -pid_ : next.si_pid;
        if (pid_ <= 0 && whom != next.si_pid) return what;
        int status = 0;
        const pid_t who = ::waitpid(whom, &status, WNOHANG | WUNTRACED);
        if (who < 0 && errno == EINTR) continue;
        if (who <= 0) return what;
        if (second_.is(who)) {
            if (!WIFSTOPPED(status)) {
                second_.has_gone();
            } else if (what == news::none) {
                stop_signal_ = WSTOPSIG(status);
                what = news::stopped;
            }
            continue;
        }
        if (who != pid_ || ended_) continue;
        if (WIFSTOPPED(status)) {
            stop_signal_ = WSTOPSIG(status);
            what = news::stopped;
        } else {
            wait_status_ = status;
            ended_ = true;
            died_as_group_ = death_signal() != 0 && second_.saw(death_signal());
            second_.end();
            read_exec_error();
            what = news::ended;
        }
    }
}

void child::read_exec_error() noexcept {
    int why = 0;
    if (::read(exec_report_[0], &why, sizeof why) == sizeof why) exec_error_ = why;
    shut(exec_report_[0]);
}

bool child::group_is_gone() const noexcept { return ::kill(-pid_, 0) != 0 && errno == ESRCH; }

int child::death_signal() const noexcept {
    return ended_ && WIFSIGNALED(wait_status_) ? WTERMSIG(wait_status_) : 0;
}

int child::exit_status() const noexcept {
    if (exec_error_ == ENOENT) return not_found;
    if (exec_error_ != 0) return not_executable;
    return WIFSIGNALED(wait_status_) ? signalled + WTERMSIG(wait_status_)
                                     : WEXITSTATUS(wait_status_);
}

sign_pipe::sign_pipe(bool wanted) {
    if (!wanted) return;
    int ends[2];
    require(::pipe2(ends, O_CLOEXEC) == 0, "pipe");
    own_end_ = move_to(ends[0], F_DUPFD_CLOEXEC, first_with_two_digits);
    command_end_ = move_to(ends[1], F_DUPFD, STDERR_FILENO + 1);
    require(own_end_ >= 0 && command_end_ >= 0, "fcntl");
    ::fcntl(own_end_, F_SETFL, O_NONBLOCK);
}

sign_pipe::~sign_pipe() {
    shut(own_end_);
    shut(command_end_);
}

int sign_pipe::take_own_end() noexcept { return std::exchange(own_end_, -1); }
void sign_pipe::close_command_end() noexcept { shut(command_end_); }

watchdog::watchdog(asio::io_context& context, std::optional<std::chrono::milliseconds> limit)
    : limit_(limit), signs_(context), timer_(context) {}

environment watchdog::variables(const sign_pipe& signs) const {
    if (!limit_) return {};
    return {{"REDLOCK_WATCHDOG_FD", std::to_string(signs.command_end())}};
}

void watchdog::start(sign_pipe& signs, std::function<void()> on_silence) {
    if (!limit_) return;
    signs.close_command_end();
    on_silence_ = std::move(on_silence);
    signs_.assign(signs.take_own_end());
    start_again();
    await_sign();
    await_limit();
}

void watchdog::stop() {
    boost::system::error_code ignored;
    timer_.cancel();
    signs_.close(ignored);
}

void watchdog::await_sign() {
    signs_.async_wait(asio::posix::stream_descriptor::wait_read, [this](auto ec) {
        if (!ec && read_signs()) await_sign();
    });
}

// False once no process of CMD's has its end any more.
bool watchdog::read_signs() {
    std::array<char, 4096> signs;
    const auto size = ::read(signs_.native_handle(), signs.data(), signs.size());
    if (size > 0) start_again();
    return size != 0;
}

void watchdog::await_limit() {
    timer_.expires_at(last_ + *limit_);
    timer_.async_wait([this](auto ec) {
        if (ec) return;
        last_ + *limit_ <= std::chrono::steady_clock::now() ? on_silence_() : await_limit();
    });
}

}  // namespace redlock::tool

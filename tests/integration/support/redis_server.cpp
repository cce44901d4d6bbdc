// Starts, signals and removes one redis-server process; knows nothing of locks.
// SPDX-License-Identifier: MIT
#include "redis_server.hpp"

#include "../../support/project.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

namespace redlock::testing {

/// A port that no other test program picks: while a killed server is down, its clients would greet
/// somebody else's. It is a name among the abstract sockets, which the kernel gives back when the
/// program ends, however it does.
class port_claim {
public:
    explicit port_claim(std::uint16_t port)
        : port_(port), fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const std::string name = "redlock-test-port-" + std::to_string(port);
        std::copy(name.begin(), name.end(), address.sun_path + 1);
        const auto size = offsetof(sockaddr_un, sun_path) + 1 + name.size();
        is_mine_ =
            ::bind(fd_, reinterpret_cast<sockaddr*>(&address), static_cast<socklen_t>(size)) == 0;
    }
    ~port_claim() { ::close(fd_); }
    port_claim(const port_claim&) = delete;
    port_claim& operator=(const port_claim&) = delete;

    bool is_mine() const noexcept { return is_mine_; }
    std::uint16_t port() const noexcept { return port_; }

private:
    std::uint16_t port_;
    int fd_;
    bool is_mine_ = false;
};

namespace {

using steady = std::chrono::steady_clock;

bool port_is_free(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    return bound;
}

// Below the range from which the system draws the ports of outgoing connections: the port of a
// killed server stays free for its restart, and nobody connects to himself while it is down.
std::unique_ptr<port_claim> pick_port() {
    static std::mutex gate;
    static std::mt19937 random{std::random_device{}()};
    const std::lock_guard lock(gate);
    std::uniform_int_distribution<int> port(10'000, 32'000);
    for (int tries = 0; tries < 1'000; ++tries) {
        auto claim = std::make_unique<port_claim>(static_cast<std::uint16_t>(port(random)));
        if (claim->is_mine() && port_is_free(claim->port())) return claim;
    }
    throw std::runtime_error("no free port on loopback");
}

std::string server_program() {
    const char* program = std::getenv("REDIS_SERVER");
    return program != nullptr && *program != '\0' ? program : "redis-server";
}

pid_t fork_and_exec(const std::vector<std::string>& words) {
    std::vector<char*> argv;
    for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("fork failed");
    if (child > 0) return child;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(126);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    const int null = ::open("/dev/null", O_RDWR);
    ::dup2(null, STDIN_FILENO);
    ::dup2(null, STDOUT_FILENO);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
}

// The death signal comes when the *thread* that forked ends, so one thread that lives as long as
// the program forks all servers.
pid_t spawn_from_lasting_thread(const std::vector<std::string>& words) {
    static boost::asio::thread_pool spawner(1);
    std::packaged_task<pid_t()> task([&words] { return fork_and_exec(words); });
    auto child = task.get_future();
    boost::asio::post(spawner, [&task] { task(); });
    return child.get();
}

}  // namespace

// "Redis server v=6.0.16 sha=…"
bool servers_have_channel_rights() {
    static const bool has = [] {
        const std::string command = "'" + server_program() + "' --version";
        const std::unique_ptr<FILE, int (*)(FILE*)> answer(::popen(command.c_str(), "r"), ::pclose);
        std::array<char, 200> line{};
        const bool is_read = answer && std::fgets(line.data(), line.size(), answer.get()) != nullptr;
        if (!is_read) throw std::runtime_error(command + " says nothing");
        return std::string_view(line.data()).find(" v=6.0.") == std::string_view::npos;
    }();
    return has;
}

redis_server::redis_server(server_options options, start how) : options_(std::move(options)) {
    std::string pattern = (std::filesystem::temp_directory_path() / "redlock-node-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    directory_ = pattern;
    try {
        port_ = pick_port();
        spawn();
        if (how == start::wait) await_ready();
    } catch (...) {
        remove();
        throw;
    }
}

redis_server::~redis_server() { remove(); }

redis_server::redis_server(redis_server&& other) noexcept
    : options_(std::move(other.options_)),
      directory_(std::exchange(other.directory_, {})),
      port_(std::move(other.port_)),
      pid_(std::exchange(other.pid_, -1)),
      stopped_(other.stopped_),
      port_is_known_(other.port_is_known_) {}

redis_server& redis_server::operator=(redis_server&& other) noexcept {
    if (this == &other) return *this;
    remove();
    options_ = std::move(other.options_);
    directory_ = std::exchange(other.directory_, {});
    port_ = std::move(other.port_);
    pid_ = std::exchange(other.pid_, -1);
    stopped_ = other.stopped_;
    port_is_known_ = other.port_is_known_;
    return *this;
}

std::vector<std::string> redis_server::command_line() const {
    std::vector<std::string> words{server_program(),
                                   (project_folder() / "deploy" / "redis.conf").string(),
                                   "--port", std::to_string(port()),
                                   "--bind", "127.0.0.1",
                                   "--dir", directory_.string(),
                                   "--logfile", (directory_ / "log").string(),
                                   "--aclfile", options_.has_users ? users_file().string() : "",
                                   "--repl-diskless-sync-delay", "0"};  // it waits 5 s for others
    if (!options_.keeps_data) words.insert(words.end(), {"--appendonly", "no"});
    if (options_.unix_socket) {
        words.insert(words.end(), {"--unixsocket", unix_socket()});
    }
    if (!options_.password.empty() && !options_.has_users) {
        words.insert(words.end(), {"--requirepass", options_.password});
    }
    words.insert(words.end(), options_.args.begin(), options_.args.end());
    return words;
}

// As docs/production.md says: each user gets a password.
void redis_server::write_users() const {
    std::ifstream from(project_folder() / "deploy" / "users.acl");
    std::ofstream to(users_file());
    const bool has_channels = servers_have_channel_rights();
    for (std::string line; std::getline(from, line);) {
        std::istringstream words(line);
        std::string word;
        for (bool is_first = true; words >> word; is_first = false) {
            if (!has_channels && (word == "resetchannels" || word.starts_with('&'))) continue;
            to << (is_first ? "" : " ") << word;
            if (word == "on") to << " >" << options_.password;
        }
        to << '\n';
    }
}

void redis_server::spawn() {
    if (options_.has_users && !std::filesystem::exists(users_file())) write_users();
    pid_ = spawn_from_lasting_thread(command_line());
    stopped_ = false;
}

// Another process may have taken the port between our look and the server's bind.
bool redis_server::answers_as_itself() const {
    try {
        direct node = ask(std::chrono::milliseconds(500));
        return node.info("process_id") == std::to_string(pid_) && node.info("loading") == "0";
    } catch (const std::exception&) {
        return false;
    }
}

void redis_server::await_ready(std::chrono::milliseconds limit) {
    const auto deadline = steady::now() + limit;
    while (!answers_as_itself()) {
        int status = 0;
        if (::waitpid(pid_, &status, WNOHANG) == pid_) {
            pid_ = -1;
            if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
                throw std::runtime_error("cannot execute " + server_program());
            }
            const auto end_of_log = log();
            const bool clash = end_of_log.find("Address already in use") != std::string::npos;
            if (!clash || steady::now() > deadline) {
                throw std::runtime_error("redis-server ended:\n" + end_of_log);
            }
            if (!port_is_known_) port_ = pick_port();
            std::filesystem::remove(directory_ / "log");
            spawn();
        }
        if (steady::now() > deadline) {
            throw std::runtime_error("redis-server does not answer:\n" + log());
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    port_is_known_ = true;
}

void redis_server::end(int signal) noexcept {
    if (pid_ <= 0) return;
    if (stopped_ && signal != SIGKILL) ::kill(pid_, SIGCONT);
    ::kill(pid_, signal);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    stopped_ = false;
}

void redis_server::kill() { end(SIGKILL); }
void redis_server::terminate() { end(SIGTERM); }

void redis_server::stop() {
    if (pid_ <= 0 || stopped_) return;
    ::kill(pid_, SIGSTOP);
    int status = 0;
    while (::waitpid(pid_, &status, WUNTRACED) < 0 && errno == EINTR) {
    }
    if (!WIFSTOPPED(status)) {
        pid_ = -1;
        throw std::runtime_error("redis-server ended when it was to stop:\n" + log());
    }
    stopped_ = true;
}

void redis_server::cont() {
    if (pid_ <= 0 || !stopped_) return;
    ::kill(pid_, SIGCONT);
    stopped_ = false;
}

void redis_server::restart(data what, start how) {
    kill();
    if (what == data::empty) {
        for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
            std::filesystem::remove_all(entry.path());
        }
    }
    spawn();
    if (how == start::wait) await_ready();
}

void redis_server::remove() noexcept {
    end(SIGKILL);
    if (directory_.empty()) return;
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
}

std::uint16_t redis_server::port() const noexcept { return port_->port(); }

direct redis_server::ask(std::chrono::milliseconds limit) const {
    return direct(port(), options_.password, limit, options_.has_users ? "operator" : "");
}

std::string redis_server::uri() const {
    const auto user = options_.password.empty() ? std::string() : ":" + options_.password + "@";
    return "redis://" + user + "127.0.0.1:" + std::to_string(port());
}

node_options redis_server::node() const {
    node_options node;
    node.host = "127.0.0.1";
    node.port = port();
    node.password = options_.password;
    return node;
}

std::string redis_server::log() const {
    std::ifstream file(directory_ / "log");
    std::string text{std::istreambuf_iterator<char>(file), {}};
    constexpr std::size_t most = 2'000;
    return text.size() <= most ? text : text.substr(text.size() - most);
}

}  // namespace redlock::testing

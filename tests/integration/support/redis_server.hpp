// One real redis-server process on loopback, for tests; knows nothing of locks.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/options.hpp>

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace redlock::testing {

struct server_options {
    std::vector<std::string> args{};  ///< Appended to the command line: {"--appendonly", "yes"}.
    std::string password{};         ///< requirepass; empty: none.
    bool unix_socket = false;       ///< Also listens on a socket in its directory.
};

/// What it answered is on disk by then.
inline const server_options durable{.args = {"--appendonly", "yes", "--appendfsync", "always"}};

class port_claim;

/// A server of its own: port, directory and process. Removed with the object; the process dies with
/// the test program, too. Not thread-safe.
class redis_server {
public:
    enum class start { wait, do_not_wait };

    /// Starts the server and waits until it answers. Throws `std::runtime_error` with the end of
    /// the server's log. `do_not_wait` leaves `await_ready()` to the caller: several start at once.
    explicit redis_server(server_options options = {}, start how = start::wait);
    ~redis_server();
    redis_server(redis_server&& other) noexcept;
    redis_server& operator=(redis_server&& other) noexcept;

    void await_ready(std::chrono::milliseconds limit = std::chrono::seconds(20));

    void kill();       ///< SIGKILL; returns when the process is gone.
    void terminate();  ///< SIGTERM; likewise.
    void stop();       ///< SIGSTOP; returns when it has stopped.
    void cont();       ///< SIGCONT.

    enum class data { keep, empty };
    /// Kills it if it runs, then starts it again on its port. It keeps what it wrote to disk.
    void restart(data what = data::keep, start how = start::wait);

    bool running() const noexcept { return pid_ > 0; }
    /// Runs and is not stopped.
    bool reachable() const noexcept { return running() && !stopped_; }
    pid_t pid() const noexcept { return pid_; }
    /// Its own also while nobody listens there.
    std::uint16_t port() const noexcept;
    const std::string& password() const noexcept { return options_.password; }
    /// The command line's own options, for the next `restart()`.
    server_options& options() noexcept { return options_; }
    std::filesystem::path directory() const { return directory_; }
    std::string unix_socket() const { return (directory_ / "socket").string(); }
    /// "redis://:password@127.0.0.1:port".
    std::string uri() const;
    /// How a client is told of it (over TCP).
    node_options node() const;
    /// The end of the server's log.
    std::string log() const;

private:
    std::vector<std::string> command_line() const;
    void spawn();
    bool answers_as_itself() const;
    void end(int signal) noexcept;
    void remove() noexcept;

    server_options options_;
    std::filesystem::path directory_;
    std::unique_ptr<port_claim> port_;
    pid_t pid_ = -1;
    bool stopped_ = false;
    bool port_is_known_ = false;  // somebody may have been told of the port: it stays
};

}  // namespace redlock::testing

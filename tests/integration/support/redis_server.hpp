// One real redis-server process on loopback, for tests; knows nothing of locks.
// SPDX-License-Identifier: MIT
#pragma once

#include "direct.hpp"

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
    std::vector<std::string> args{};  ///< Appended to the command line: {"--maxmemory", "1mb"}.
    /// requirepass, or of each user; empty: none.
    std::string password{};
    bool unix_socket = false;       ///< Also listens on a socket in its directory.
    bool keeps_data = false;        ///< What it answered is on disk by then: as deploy/redis.conf says.
    /// It has the users of deploy/users.acl, and no other; the test is their operator.
    bool has_users = false;
};

inline const server_options durable{.keeps_data = true};

/// Whether the servers know rights to channels: Redis 6.0 does not.
bool servers_have_channel_rights();

class port_claim;

/// A server of its own: port, directory and process, with the configuration of deploy/redis.conf.
/// Removed with the object; the process dies with the test program, too. Not thread-safe.
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
    /// A connection of the test's own.
    direct ask(std::chrono::milliseconds limit = std::chrono::seconds(10)) const;
    /// The command line's own options, for the next `restart()`.
    server_options& options() noexcept { return options_; }
    std::filesystem::path directory() const { return directory_; }
    /// Where `has_users`; the test may change it, and say ACL LOAD.
    std::filesystem::path users_file() const { return directory_ / "users.acl"; }
    std::string unix_socket() const { return (directory_ / "socket").string(); }
    /// "redis://:password@127.0.0.1:port".
    std::string uri() const;
    /// How a client addresses it (over TCP). Where it `has_users`, one of them is to be added.
    node_options node() const;
    /// The end of the server's log.
    std::string log() const;

private:
    std::vector<std::string> command_line() const;
    void write_users() const;
    void spawn();
    bool answers_as_itself() const;
    void end(int signal) noexcept;
    void remove() noexcept;

    server_options options_;
    std::filesystem::path directory_;
    std::unique_ptr<port_claim> port_;
    pid_t pid_ = -1;
    bool stopped_ = false;
    bool port_is_known_ = false;  // clients may know the port: it stays
};

}  // namespace redlock::testing

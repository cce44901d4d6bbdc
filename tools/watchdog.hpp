// The signs of life that CMD has to give; knows no lease and no process.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/child.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/datagram_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace redlock::tool {

/// The descriptors by which signs come. They are opened before those of redlock's event loop, and
/// CMD's is the lowest that is free: its number has one digit then, which is all that `>&` takes in
/// some shells, unless redlock itself was started with all of them open.
class sign_channels {
public:
    /// Opens none if not `wanted`. Throws `std::system_error` where the system refuses them.
    explicit sign_channels(bool wanted);
    ~sign_channels();
    sign_channels(const sign_channels&) = delete;
    sign_channels& operator=(const sign_channels&) = delete;

    int take_bytes_end() noexcept;
    int take_socket() noexcept;
    /// Of the pipe: CMD inherits it.
    int command_end() const noexcept { return command_end_; }
    void close_command_end() noexcept;
    /// Of the socket, as NOTIFY_SOCKET says it.
    const std::string& socket_name() const noexcept { return socket_name_; }

private:
    int bytes_end_ = -1;
    int command_end_ = -1;
    int socket_ = -1;
    std::string socket_name_;
};

/// Counts the time since the last sign: a byte on the pipe, or a datagram with the line WATCHDOG=1
/// on the socket, from a process of the same user or of root. Each datagram of these also goes on to
/// the socket that redlock itself finds in NOTIFY_SOCKET, in order and one at a time: while that one
/// takes none CMD waits, as it would without redlock. Descriptors that come with it do not go on.
class watchdog {
public:
    watchdog(boost::asio::io_context& context, std::optional<std::chrono::milliseconds> limit);
    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;

    /// What CMD finds in its environment: nothing without a limit.
    environment variables(const sign_channels& channels) const;
    /// CMD was started, and inherited its end. Calls `on_silence` once, if a time as long as the
    /// limit passes without a sign. Does nothing without a limit.
    void start(sign_channels& channels, std::function<void()> on_silence);
    /// CMD was stopped until now, and could give no sign.
    void start_again() noexcept { last_ = std::chrono::steady_clock::now(); }
    void stop();

private:
    void await_byte();
    void await_datagram();
    void await_limit();
    bool read_bytes();
    std::size_t read_datagram();
    void pass_on(std::size_t size);

    std::optional<std::chrono::milliseconds> limit_;
    std::function<void()> on_silence_;
    std::chrono::steady_clock::time_point last_{};
    boost::asio::posix::stream_descriptor bytes_;
    boost::asio::local::datagram_protocol::socket socket_;
    boost::asio::steady_timer timer_;
    boost::asio::local::datagram_protocol::socket outer_;  // open where there is one
    std::array<char, 4096> datagram_{};                    // what systemd takes at most
};

}  // namespace redlock::tool

// The signs of life that CMD has to give; knows no lease and no process.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/child.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <optional>

namespace redlock::tool {

/// The pipe by which signs come. It is opened before the descriptors of redlock's event loop, and
/// CMD's end is the lowest that is free: its number has one digit then, which is all that `>&`
/// takes in some shells, unless redlock itself was started with all of them open.
class sign_pipe {
public:
    /// Opens none if not `wanted`. Throws `std::system_error` where the system refuses it.
    explicit sign_pipe(bool wanted);
    ~sign_pipe();
    sign_pipe(const sign_pipe&) = delete;
    sign_pipe& operator=(const sign_pipe&) = delete;

    int take_own_end() noexcept;
    /// CMD inherits it.
    int command_end() const noexcept { return command_end_; }
    void close_command_end() noexcept;

private:
    int own_end_ = -1;
    int command_end_ = -1;
};

/// Counts the time since the last sign, which is a byte on the pipe.
class watchdog {
public:
    watchdog(boost::asio::io_context& context, std::optional<std::chrono::milliseconds> limit);
    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;

    /// What CMD finds in its environment: nothing without a limit.
    environment variables(const sign_pipe& signs) const;
    /// CMD was started, and inherited its end. Calls `on_silence` once, if a time as long as the
    /// limit passes without a sign. Does nothing without a limit.
    void start(sign_pipe& signs, std::function<void()> on_silence);
    /// CMD was stopped until now, and could give no sign.
    void start_again() noexcept { last_ = std::chrono::steady_clock::now(); }
    void stop();

private:
    void await_sign();
    void await_limit();
    bool read_signs();

    std::optional<std::chrono::milliseconds> limit_;
    std::function<void()> on_silence_;
    std::chrono::steady_clock::time_point last_{};
    boost::asio::posix::stream_descriptor signs_;
    boost::asio::steady_timer timer_;
};

}  // namespace redlock::tool

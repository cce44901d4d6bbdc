// The life of one connection: open, greet, serve, rest, again; knows no socket and no command.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/time.hpp"

#include <cstdint>

namespace redlock::core {

/// Facts in (opened, answered, greeted, down, time), actions out. Until a connection serves, the node
/// may be silent for `connect_timeout` at a time: to be resolved and reached, and before each answer
/// of the handshake; and all of that takes no longer than `longest_opening`. A connection that ends is tried again at once if it had served for a while,
/// after a jittered and growing rest if it had not.
class reconnection {
public:
    /// TCP, TLS, the first answers, and the scripts or the node record.
    static constexpr duration longest_opening(duration connect_timeout) noexcept {
        return 4 * connect_timeout;
    }

    enum class phase : std::uint8_t { idle, connecting, greeting, ready, resting, closed };
    enum class action : std::uint8_t {
        none,
        open,     ///< Resolve and connect.
        give_up,  ///< Drop the connection, then say `down`: it took too long.
    };

    explicit reconnection(duration connect_timeout) noexcept : connect_timeout_(connect_timeout) {}

    action start(time_point now) noexcept;
    void opened(time_point now) noexcept;
    /// The node was reached, or answered, and is not done yet.
    void answered(time_point now) noexcept;
    void greeted(time_point now) noexcept;
    /// The connection failed or ended; `stalled`: it was given up because nothing was answered.
    /// `random` is the jitter.
    action down(time_point now, bool stalled, std::uint64_t random) noexcept;
    action on_time(time_point now) noexcept;
    /// No connection is wanted any more.
    void close() noexcept;

    phase state() const noexcept { return phase_; }
    bool is_ready() const noexcept { return phase_ == phase::ready; }
    /// On its way, and nothing has gone wrong since it last served: worth waiting for.
    bool is_hopeful() const noexcept {
        return failures_ == 0 && (phase_ == phase::connecting || phase_ == phase::greeting);
    }
    time_point deadline() const noexcept { return deadline_; }

private:
    action connect(time_point now) noexcept;

    duration connect_timeout_;
    phase phase_ = phase::idle;
    time_point deadline_ = time_point::max();
    time_point opening_since_{};
    time_point serving_since_{};
    std::uint32_t failures_ = 0;  // since it last served
};

}  // namespace redlock::core

// What one node publishes to this client: connection, subscription and pulse; touches no socket.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/call.hpp"
#include "client/connection.hpp"
#include "core/node/reconnection.hpp"
#include "core/node/round_trip.hpp"
#include "wire/resp/parser.hpp"

#include <redlock/options.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace redlock::detail {

/// What a listener tells its owner, and gets from it. From within these calls the owner may close
/// and open any listener, and submit commands.
class listener_owner {
public:
    virtual std::uint64_t random_word() = 0;
    /// What is published from now on arrives.
    virtual void on_listening(std::size_t node, time_point now) = 0;
    /// The connection could not be made, or broke: what was published since may be lost. It is
    /// tried again.
    virtual void on_deaf(std::size_t node, const wire::failure& why, time_point now) = 0;
    virtual void on_message(std::size_t node, std::string_view payload, time_point now) = 0;

protected:
    ~listener_owner() = default;
};

/// A connection that is subscribed to one channel for as long as that is wanted. It is apart from
/// the node's session because RESP2 allows no other commands on it.
class listener final : public connection {
public:
    /// What is referred to outlives the listener.
    listener(std::size_t index, const client_options& options, transport& wire,
             listener_owner& owner, std::string_view channel);

    /// Wanted from now on, until `close`.
    void open(time_point now);
    /// Hangs up; nothing more is told, until it is opened again.
    void close();
    bool is_listening() const noexcept { return link_.is_ready(); }

    // From whoever performs.
    void on_open(time_point now) override;
    void on_bytes(std::string_view bytes, time_point now) override;
    void on_down(error_code why, time_point now) override;
    void on_time(time_point now);
    time_point deadline() const noexcept;
    std::string& outgoing() noexcept override { return outgoing_; }
    void on_written() noexcept override {}  // what was not written will not be answered

private:
    enum class step : std::uint8_t { auth, set_name, subscribe };

    void on_greeting(const resp::reply& reply, time_point now);
    void on_subscribed(const resp::reply& reply, time_point now);
    void on_push(const resp::reply& reply, time_point now);
    void on_alive(time_point now) noexcept;
    void ping(time_point now);
    void give_up(const wire::failure& why, bool stalled, time_point now);
    void hang_up();

    std::size_t index_;
    const client_options* options_;
    transport* wire_;
    listener_owner* owner_;
    std::string_view channel_;
    core::reconnection link_;
    resp::parser parser_;
    core::round_trip round_trip_;
    step awaited_ = step::auth;  // what the next reply of a greeting answers
    time_point ping_at_ = time_point::max();
    time_point pong_by_ = time_point::max();  // only while one is awaited
    std::string outgoing_;
};

}  // namespace redlock::detail

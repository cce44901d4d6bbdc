// What the nodes publish to this client: subscriptions and their pulse.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/call.hpp"
#include "client/connection.hpp"
#include "value/nodes.hpp"

#include <redlock/options.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::detail {

/// What a listener tells its owner, and gets from it. From within these calls the owner may close
/// and open any listener, and submit commands.
class listener_owner : public connection_owner {
public:
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
    void open(time_point now) { start(now); }
    /// Hangs up; the owner is not called any more, until it is opened again.
    void close();
    bool is_listening() const noexcept { return is_ready(); }

    // From the performer.
    void on_time(time_point now);
    time_point deadline() const noexcept;

private:
    enum class step : std::uint8_t { auth, select, set_name, subscribe };

    void greet(time_point now) override;
    step after_auth() const noexcept;
    void on_greeting(const resp::reply& reply, time_point now) override;
    void on_subscribed(const resp::reply& reply, time_point now);
    void on_reply(const resp::reply& reply, time_point now) override;
    void on_end(const wire::failure& why, time_point now) override;
    void ping(time_point now);
    time_point ping_at() const noexcept;

    listener_owner* owner_;
    std::string_view channel_;  // the owner's
    step awaited_ = step::auth;               // what the next reply of a greeting answers
    time_point pong_by_ = time_point::max();  // only while one is awaited
};

class node_listeners : public one_per_node<listener> {
public:
    /// From now on every node is listened to, as far as it can be reached; until `close`. Does
    /// nothing after `close_for_good`.
    void open(time_point now) const {
        if (is_closed_) return;
        for (const auto& l : *this) l->open(now);
    }
    void close() const {
        for (const auto& l : *this) l->close();
    }
    void close_for_good() {
        is_closed_ = true;
        close();
    }
    bool is_listening(std::size_t node) const noexcept { return (*this)[node].is_listening(); }
    /// The nodes on which a wake-up would arrive.
    node_mask listening() const noexcept {
        return node_mask::where(size(), [this](std::size_t i) { return is_listening(i); });
    }

private:
    bool is_closed_ = false;  // for good
};

}  // namespace redlock::detail

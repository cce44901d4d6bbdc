// What the nodes publish to this client.
// SPDX-License-Identifier: MIT
#include "client/listener.hpp"

#include "wire/failure.hpp"
#include "wire/login.hpp"
#include "wire/resp/command.hpp"

#include <algorithm>
#include <chrono>

namespace redlock::detail {

namespace {

// Without any bytes, before the listener pings the node.
constexpr duration longest_quiet = std::chrono::seconds(5);

// In RESP2 whatever comes on a subscribed connection is an array of strings, named by the first.
bool is_push(const resp::reply& reply, std::string_view kind, std::size_t size) {
    return reply.size() == size && reply[0].type() == resp::reply_type::string &&
           reply[0].text() == kind && reply[1].type() == resp::reply_type::string;
}

}  // namespace

listener::listener(std::size_t index, const client_options& options, transport& wire,
                   listener_owner& owner, std::string_view channel)
    // A payload has 512 bytes at most, and an error's text not many more.
    : connection(index, options, wire, owner, {.max_reply_bytes = 4096, .max_elements = 8}),
      owner_(&owner),
      channel_(channel) {
    assert(!channel.empty());
}

void listener::close() {
    stop();
    pong_by_ = time_point::max();
}

void listener::greet(time_point) {
    assert(pong_by_ == time_point::max());
    const node_options& node = options().nodes[index()];
    const bool has_password = wire::append_auth(outgoing(), node);
    awaited_ = has_password ? step::auth : after_auth();
    // Channels have no databases, but a commit names the programs of its own.
    if (node.database != 0) {
        resp::append_command(outgoing(), {"SELECT", std::to_string(node.database)});
    }
    wire::append_name(outgoing(), options());
    resp::append_command(outgoing(), {"SUBSCRIBE", channel_});
}

listener::step listener::after_auth() const noexcept {
    return options().nodes[index()].database != 0 ? step::select : step::set_name;
}

void listener::on_greeting(const resp::reply& reply, time_point now) {
    assert(!is_listening());
    const bool is_error = reply.type() == resp::reply_type::error;
    if (is_error && (awaited_ == step::auth || reply.is_error("NOAUTH"))) {
        return give_up(wire::read_auth_refusal(reply), true, now);
    }
    switch (awaited_) {
        case step::auth: awaited_ = after_auth(); break;
        case step::select:
        case step::set_name:
            if (is_error) {
                if (const auto away = wire::read_turned_away(reply))
                    return give_up(*away, true, now);
            }
            awaited_ = awaited_ == step::select ? step::set_name : step::subscribe;
            break;
        case step::subscribe: on_subscribed(reply, now); break;
    }
}

void listener::on_subscribed(const resp::reply& reply, time_point now) {
    assert(awaited_ == step::subscribe);
    if (!is_push(reply, "subscribe", 3) || reply[1].text() != channel_) {
        wire::failure why = wire::read_failure(reply);
        if (why.error == errc::missing_right) {
            why.detail += ": " + wire::remedy_for(why.detail, options().key_prefix, "subscribe");
        }
        why.detail.insert(0, "SUBSCRIBE: ");
        return give_up(why, true, now);
    }
    greeted(now);
    owner_->on_listening(index(), now);
}

void listener::on_reply(const resp::reply& reply, time_point now) {
    assert(is_listening());
    if (is_push(reply, "message", 3) && reply[2].type() == resp::reply_type::string) {
        if (reply[1].text() == channel_) owner_->on_message(index(), reply[2].text(), now);
    } else if (is_push(reply, "pong", 2) && pong_by_ != time_point::max()) {
        pong_by_ = time_point::max();
    } else {
        give_up(wire::read_failure(reply), true, now);
    }
}

void listener::ping(time_point now) {
    assert(is_listening() && pong_by_ == time_point::max());
    pong_by_ = now + longest_silence();
    resp::append_command(outgoing(), {"PING"});
}

void listener::on_end(const wire::failure& why, time_point now) {
    pong_by_ = time_point::max();
    owner_->on_deaf(index(), why, now);
}

time_point listener::ping_at() const noexcept {
    const bool is_due = is_listening() && pong_by_ == time_point::max();
    return is_due ? last_bytes() + longest_quiet : time_point::max();
}

time_point listener::deadline() const noexcept {
    return std::min({link_deadline(), ping_at(), extended(pong_by_)});
}

void listener::on_time(time_point now) {
    if (now >= extended(pong_by_)) {
        return give_up({vote::timed_out, errc::timed_out, "PING was not answered"}, true, now);
    }
    if (now >= ping_at()) ping(now);
    on_link_time(now);
}

}  // namespace redlock::detail

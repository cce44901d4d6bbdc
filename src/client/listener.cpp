// What one node publishes to this client.
// SPDX-License-Identifier: MIT
#include "client/listener.hpp"

#include "value/text.hpp"
#include "wire/auth.hpp"
#include "wire/failure.hpp"
#include "wire/resp/command.hpp"

#include <algorithm>
#include <chrono>

namespace redlock::detail {

namespace {

constexpr duration longest_silence = std::chrono::seconds(5);

// In RESP2 whatever comes on a subscribed connection is an array of strings, named by the first.
bool is_push(const resp::reply& reply, std::string_view kind, std::size_t size) {
    return reply.size() == size && reply[0].type() == resp::reply_type::string &&
           reply[0].text() == kind && reply[1].type() == resp::reply_type::string;
}

}  // namespace

listener::listener(std::size_t index, const client_options& options, transport& wire,
                   listener_owner& owner, std::string_view channel)
    : index_(index),
      options_(&options),
      wire_(&wire),
      owner_(&owner),
      channel_(channel),
      link_(options.connect_timeout),
      // A payload has 512 bytes at most, and an error's text not many more.
      parser_({.max_reply_bytes = 4096, .max_elements = 8}) {}

void listener::open(time_point now) {
    if (link_.start(now) == core::reconnection::action::open) wire_->open();
}

void listener::close() {
    hang_up();
    link_ = core::reconnection(options_->connect_timeout);
}

void listener::on_open(time_point now) {
    link_.opened();
    round_trip_.begin();
    round_trip_.asked(now);
    parser_.reset();
    const bool has_password = wire::append_auth(outgoing_, options_->nodes[index_]);
    awaited_ = has_password ? step::auth : step::set_name;
    wire::append_name(outgoing_, *options_);
    resp::append_command(outgoing_, {"SUBSCRIBE", channel_});
}

void listener::on_bytes(std::string_view bytes, time_point now) {
    using phase = core::reconnection::phase;
    if (link_.is_ready()) on_alive(now);
    // The owner may close it, and even open it again, while it is told.
    while (link_.state() == phase::greeting || link_.state() == phase::ready) {
        resp::reply reply;
        switch (parser_.feed(bytes, reply)) {
            case resp::parser::outcome::need_more: return;
            case resp::parser::outcome::broken:
                return give_up(
                    {vote::unreachable, errc::protocol_error, text::printable(parser_.error())},
                    true, now);
            case resp::parser::outcome::complete: break;
        }
        if (link_.is_ready()) {
            on_push(reply, now);
        } else {
            on_greeting(reply, now);
        }
    }
}

void listener::on_greeting(const resp::reply& reply, time_point now) {
    round_trip_.answered(now);
    const bool is_error = reply.type() == resp::reply_type::error;
    if (is_error && (awaited_ == step::auth || reply.is_error("NOAUTH"))) {
        return give_up(wire::read_auth_refusal(reply), true, now);
    }
    switch (awaited_) {
        case step::auth: awaited_ = step::set_name; break;
        case step::set_name:
            if (is_error) {
                if (const auto away = wire::read_turned_away(reply))
                    return give_up(*away, true, now);
            }
            awaited_ = step::subscribe;
            break;
        case step::subscribe: on_subscribed(reply, now); break;
    }
}

void listener::on_subscribed(const resp::reply& reply, time_point now) {
    if (!is_push(reply, "subscribe", 3) || reply[1].text() != channel_) {
        wire::failure why = wire::read_failure(reply);
        why.detail.insert(0, "SUBSCRIBE: ");
        return give_up(why, true, now);
    }
    link_.greeted(now);
    on_alive(now);
    owner_->on_listening(index_, now);
}

void listener::on_push(const resp::reply& reply, time_point now) {
    if (is_push(reply, "message", 3) && reply[2].type() == resp::reply_type::string) {
        if (reply[1].text() == channel_) owner_->on_message(index_, reply[2].text(), now);
    } else if (is_push(reply, "pong", 2) && pong_by_ != time_point::max()) {
        pong_by_ = time_point::max();
        on_alive(now);
    } else {
        give_up(wire::read_failure(reply), true, now);
    }
}

void listener::on_alive(time_point now) noexcept {
    if (pong_by_ == time_point::max()) ping_at_ = now + longest_silence;
}

void listener::ping(time_point now) {
    ping_at_ = time_point::max();
    const duration limit = core::node_timeout(options_->node_timeout, round_trip_.get());
    pong_by_ = now + std::max<duration>(options_->connect_timeout, 10 * limit);
    resp::append_command(outgoing_, {"PING"});
}

void listener::on_down(error_code why, time_point now) {
    give_up({vote::unreachable, why, {}}, false, now);
}

void listener::give_up(const wire::failure& why, bool stalled, time_point now) {
    hang_up();
    if (link_.down(now, stalled, owner_->random_word()) == core::reconnection::action::open) {
        wire_->open();
    }
    owner_->on_deaf(index_, why, now);  // last: the owner may close it
}

void listener::hang_up() {
    wire_->drop();
    outgoing_.clear();
    ping_at_ = time_point::max();
    pong_by_ = time_point::max();
}

time_point listener::deadline() const noexcept {
    return std::min({link_.deadline(), ping_at_, pong_by_});
}

void listener::on_time(time_point now) {
    if (now >= pong_by_) {
        return give_up({vote::timed_out, errc::timed_out, "PING was not answered"}, true, now);
    }
    if (now >= ping_at_) ping(now);
    switch (link_.on_time(now)) {
        case core::reconnection::action::none: break;
        case core::reconnection::action::give_up:
            return give_up({vote::timed_out, errc::timed_out, "could not connect in time"}, true,
                           now);
        case core::reconnection::action::open: wire_->open(); break;
    }
}

}  // namespace redlock::detail

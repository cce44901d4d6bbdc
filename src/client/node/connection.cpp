// One connection to a node, opened again whenever it ends.
// SPDX-License-Identifier: MIT
#include "client/node/connection.hpp"

#include "value/connection_error.hpp"
#include "value/text.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace redlock::detail {

connection::connection(std::size_t index, const client_options& options, transport& wire,
                       connection_owner& owner, resp::parser_limits limits)
    : index_(index),
      options_(&options),
      wire_(&wire),
      owner_(&owner),
      link_(options.connect_timeout),
      parser_(limits) {}

void connection::start(time_point now) {
    if (link_.start(now) == action::open) open(now);
}

void connection::on_open(time_point now) {
    link_.opened(now);
    connecting_took_ = now - opening_since_;
    parser_.reset();
    round_trip_.begin();
    queried(now);
    greet(now);
}

void connection::on_bytes(std::string_view bytes, time_point now) {
    last_bytes_ = now;
    // It may be stopped, and even started again, by what is called from here.
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
            on_reply(reply, now);
        } else {
            link_.answered(now);
            round_trip_.answered(now);
            on_greeting(reply, now);
        }
    }
}

void connection::on_down(error_code why, time_point now) {
    const bool is_hung_up = link_.state() == phase::greeting && is_broken_connection(why);
    give_up({vote::unreachable, why,
             is_hung_up && !has_tls()
                 ? "the server hung up before it answered: if it expects TLS, use rediss://"
                 : ""},
            false, now);
}

bool connection::has_tls() const noexcept {
    return options_->nodes[index_ % options_->nodes.size()].tls.has_value();
}

void connection::greeted(time_point now) noexcept {
    assert(link_.state() == phase::greeting);
    link_.greeted(now);
    was_ready_ = true;
}

void connection::give_up(wire::failure why, bool stalled, time_point now) {
    if (link_.state() == phase::closed) return;
    // Perhaps it failed for want of the new ones.
    if (!link_.is_ready() && !files_complaint_.empty()) {
        why.detail += (why.detail.empty() ? "" : "; ") + files_complaint_;
    }
    hang_up();
    opens_again_ = link_.down(now, stalled, owner_->random_word()) == action::open;
    on_end(why, now);  // it may be stopped there, and even started
    if (std::exchange(opens_again_, false)) open(now);
}

time_point connection::link_deadline() const noexcept {
    return link_.state() == phase::resting ? link_.deadline() : extended(link_.deadline());
}

void connection::on_link_time(time_point now) {
    if (now < link_deadline()) return;
    switch (link_.on_time(now)) {
        case action::none: break;
        case action::give_up:
            return give_up({vote::timed_out, errc::timed_out, tell_of_distance(now)}, true, now);
        case action::open: open(now); break;
    }
}

// The longest of what was measured, or waited for in vain: at least one silence.
std::string connection::tell_of_distance(time_point now) const {
    using std::chrono::milliseconds;
    const duration waited = std::max(
        {connecting_took_, round_trip_.get(), now - opening_since_ - connecting_took_});
    const auto enough = std::chrono::ceil<milliseconds>(
        std::max<duration>(core::round_trips_to_connect * waited, 2 * options_->connect_timeout));
    std::string out = "could not connect in time: if the server is only far away, set "
                      "connect_timeout_ms, which is " +
                      std::to_string(options_->connect_timeout.count()) + ", to " +
                      std::to_string(enough.count());
    if (has_tls()) out += "; if it expects no TLS, use redis://";
    return out;
}

void connection::open(time_point now) {
    assert(outgoing_.empty());
    opening_since_ = now;
    connecting_took_ = {};
    files_complaint_.clear();
    wire_->open();
}

void connection::stop() {
    hang_up();
    link_ = core::reconnection(options_->connect_timeout);
}

void connection::stop_for_good() {
    hang_up();
    link_.close();
}

void connection::hang_up() {
    wire_->drop();
    outgoing_.clear();
    opens_again_ = false;
}

duration connection::node_timeout(duration ttl) const noexcept {
    const duration given = options_->node_timeout;
    if (given == duration::zero() && !round_trip_.is_known() && is_untried()) {
        return std::clamp<duration>(options_->connect_timeout, core::least_node_timeout(ttl),
                                    core::longest_node_timeout);
    }
    return core::node_timeout(given, round_trip_.get(), ttl);
}

duration connection::shortest_timeout() const noexcept {
    return core::shortest_timeout(options_->node_timeout, round_trip_.get());
}

duration connection::longest_silence() const noexcept {
    return std::max<duration>(options_->connect_timeout, 10 * shortest_timeout());
}

}  // namespace redlock::detail

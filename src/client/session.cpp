// One node: its connection, its handshake, its pipeline and what is owed to it.
// SPDX-License-Identifier: MIT
#include "client/session.hpp"

#include "value/lease_terms.hpp"
#include "value/text.hpp"
#include "wire/failure.hpp"
#include "wire/tail.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <utility>

namespace redlock::detail {

namespace {

constexpr std::size_t most_owed_bytes = 1U << 20;  // at once: each brings its script

// How long after it was sent a command may take a key: much longer than any operation waits for the
// answer, so that a node which is merely slow does not refuse it.
duration good_for(duration node_timeout) {
    return std::max<duration>(4 * node_timeout, std::chrono::seconds(1));
}

// One more argument of a command that has counted it.
void append_word(std::string& out, std::string_view word) {
    out.append("$").append(std::to_string(word.size())).append("\r\n");
    out.append(word).append("\r\n");
}

// Refused for a state that passes, and not for what was asked.
bool is_passing(const resp::reply& reply) {
    if (reply.type() != resp::reply_type::error) return false;
    static constexpr std::array states{"BUSY",  "LOADING",  "MASTERDOWN", "MISCONF",
                                       "NOREPLICAS", "OOM", "READONLY",   "TRYAGAIN"};
    return std::any_of(states.begin(), states.end(),
                       [&](const char* state) { return reply.is_error(state); });
}

}  // namespace

session::session(std::size_t index, const client_options& options, transport& wire,
                 session_owner& owner, traffic& counts, session_limits limits)
    : index_(index),
      options_(&options),
      wire_(&wire),
      owner_(&owner),
      counts_(&counts),
      limits_(limits),
      link_(options.connect_timeout),
      handshake_(options.nodes[index], options),
      // INFO is the longest reply by far; other answers have a hundred bytes, or four a lease.
      parser_({.max_reply_bytes = 1U << 20, .max_elements = 1024}) {}

void session::start(time_point now) {
    if (link_.start(now) == core::reconnection::action::open) wire_->open();
}

bool session::is_full(std::size_t more_bytes) const noexcept {
    return pipeline_.size() + waiting_.size() >= limits_.max_commands ||
           outgoing_.size() + waiting_bytes_ + more_bytes > limits_.max_bytes;
}

std::optional<wire::failure> session::submit(call_ptr what, std::uint32_t round,
                                             std::string_view wire, wire::tail end,
                                             time_point now) {
    const bool is_release = what->is_owed(index_);
    // Releases are bounded by the leases in flight: refusing them would only leave keys behind.
    if (!is_release && is_full(wire.size())) {
        return wire::failure{vote::unreachable, errc::backlog,
                             "too much waits for this node already"};
    }
    const bool is_served = link_.is_ready() || link_.is_hopeful();
    if (is_served && what->begins_lease() && owed_.size() >= limits_.max_owed) {
        return wire::failure{vote::unreachable, errc::backlog,
                             "too many releases are owed to this node already"};
    }
    entry item{std::move(what), round};
    if (link_.is_ready()) {
        send(std::move(item), wire, end, now);
        return std::nullopt;
    }
    if (link_.is_hopeful()) {
        waiting_bytes_ += wire.size();
        waiting_.push_back({std::move(item), std::string(wire), end});
        return std::nullopt;
    }
    if (is_release) {
        item.is_told = true;
        owe(std::move(item));
    }
    return last_failure_;
}

void session::send(entry item, std::string_view wire, wire::tail end, time_point now) {
    outgoing_.append(wire);
    append(end, now);
    note_sent(std::move(item), now);
}

void session::append(wire::tail end, time_point now) {
    if (end == wire::tail::none) return;
    outgoing_.append(epoch_);
    if (end == wire::tail::epoch_and_limit) append_limit(now);
}

// Empty where the node's clock is not known.
void session::append_limit(time_point now) {
    std::array<char, 24> digits{};
    std::size_t size = 0;
    if (clock_ahead_us_) {
        const auto until = std::chrono::ceil<std::chrono::microseconds>(
            (now + good_for(node_timeout())).time_since_epoch());
        const std::int64_t us = until.count() + *clock_ahead_us_;
        char* const first = digits.data();
        const auto end = std::to_chars(first, first + digits.size(), us).ptr;
        size = static_cast<std::size_t>(end - first);
    }
    append_word(outgoing_, {digits.data(), size});
}

void session::set_record(const core::record_facts& record) {
    // An empty epoch is not compared; one that no record has never fits.
    const std::string_view epoch =
        record.exists ? std::string_view(record.epoch) : (is_guarded(*options_) ? "-" : "");
    epoch_.clear();
    append_word(epoch_, epoch);
}

void session::note_sent(entry item, time_point now) {
    counts_->commands.add();
    ++unwritten_;
    pipeline_.push(std::move(item), now, now + node_timeout());
}

bool session::send_with_script(entry& item, time_point now) {
    const auto end = item.what->write_with_script(index_, item.round, outgoing_);
    if (!end) return false;
    append(*end, now);
    item.with_script = true;
    note_sent(std::move(item), now);
    return true;
}

void session::owe(entry item) {
    owed_.owe(std::move(item));
    counts_->owed_releases.add();
    owner_->on_release_owed(index_);
}

void session::on_open(time_point now) {
    link_.opened();
    greeted_from_ = now;
    parser_.reset();
    outgoing_.clear();
    unwritten_ = 0;
    round_trip_.begin();
    round_trip_.asked(now);
    handshake_.begin(outgoing_);
}

void session::on_bytes(std::string_view bytes, time_point now) {
    using phase = core::reconnection::phase;
    while (link_.state() == phase::greeting || link_.state() == phase::ready) {
        resp::reply reply;
        switch (parser_.feed(bytes, reply)) {
            case resp::parser::outcome::need_more: return;
            case resp::parser::outcome::broken:
                give_up({vote::unreachable, errc::protocol_error, text::printable(parser_.error())},
                        true, now);
                return;
            case resp::parser::outcome::complete: break;
        }
        if (link_.state() == phase::greeting) {
            on_greeting(reply, now);
        } else {
            on_answer(reply, now);
        }
    }
}

void session::on_greeting(const resp::reply& reply, time_point now) {
    round_trip_.answered(now);
    last_answer_ = now;
    switch (handshake_.on_reply(reply)) {
        case handshake::outcome::more: break;
        case handshake::outcome::ask_record:
            handshake_.ask_record(outgoing_, owner_->record_wanted());
            round_trip_.asked(now);
            break;
        case handshake::outcome::failed: give_up(handshake_.why(), true, now); break;
        case handshake::outcome::done: on_ready(now); break;
    }
}

void session::on_ready(time_point now) {
    const wire::failure unwanted{vote::unreachable,
                                 make_error_code(boost::system::errc::operation_canceled), {}};
    link_.greeted(now);
    was_up_ = true;
    counts_->connects.add();
    set_record(handshake_.told().record);
    clock_ahead_us_.reset();  // it may be another machine now: the owner sets it again
    owner_->on_greeted(index_, handshake_.told(), greeted_from_, now);
    // What is owed goes before everything that was asked for since.
    send_owed(now);
    waiting_bytes_ = 0;
    for (queued& q : std::exchange(waiting_, {})) {
        if (q.item.what->is_owed(index_)) {
            send_with_script(q.item, now);  // what it has to say may be another since the handshake
        } else if (!q.item.what->is_wanted(q.item.round)) {
            q.item.what->on_failure(index_, q.item.round, unwanted, now);
        } else if (q.item.what->is_outdated(q.item.round)) {
            send_with_script(q.item, now);
        } else {
            send(std::move(q.item), q.wire, q.end, now);
        }
    }
    owner_->on_node_up(index_, now - greeted_from_, now);
}

void session::send_owed(time_point now) {
    owed_.pay(
        now, [&] { return outgoing_.size() < most_owed_bytes; },
        [&](entry item) { send_with_script(item, now); });
}

void session::probe_owed(time_point now) {
    auto first = owed_.take_first();
    if (!first) return;
    first->is_probe = true;
    send_with_script(*first, now);
}

void session::on_answer(const resp::reply& reply, time_point now) {
    if (pipeline_.size() <= unwritten_) {
        give_up({vote::unreachable, errc::protocol_error, "a reply to nothing that was asked"}, true,
                now);
        return;
    }
    last_answer_ = now;
    slot first = pipeline_.pop();
    entry& item = first.what;
    if (first.expired) counts_->late_replies.add();
    const bool may_repeat = !first.expired || item.what->is_owed(index_);
    if (reply.is_error("NOSCRIPT") && !item.with_script && may_repeat &&
        item.what->is_wanted(item.round) && send_with_script(item, now)) {
        return;
    }
    const bool was_told = std::exchange(item.is_told, true);
    const bool was_probe = std::exchange(item.is_probe, false);
    if (is_passing(reply) && item.what->is_owed(index_)) {
        // Nothing was done, and a release must be. It is told, and asked again after a rest.
        owed_.refused(item, now);
    } else if (was_probe) {
        send_owed(now);
    }
    if (!was_told) item.what->on_reply(index_, item.round, reply, now);
}

void session::on_down(error_code why, time_point now) {
    give_up({vote::unreachable, why, {}}, false, now);
}

void session::give_up(wire::failure why, bool stalled, time_point now) {
    if (link_.state() == core::reconnection::phase::closed) return;
    wire_->drop();
    counts_->disconnects.add();
    last_failure_ = std::move(why);
    const wire::failure told = last_failure_;
    const bool open_again = link_.down(now, stalled, owner_->random_word()) ==
                            core::reconnection::action::open;
    outgoing_.clear();
    owed_.disconnected();
    tell_all(told, now);
    owner_->on_node_down(index_, told, now);
    if (open_again) wire_->open();
}

void session::reconnect(const wire::failure& why, time_point now) {
    if (link_.is_ready()) give_up(why, false, now);
}

// Returns how many of the commands without an answer were releases.
std::size_t session::tell_all(const wire::failure& why, time_point now) {
    std::size_t releases = 0;
    // The calls may submit again while they are told, so everything is taken out first.
    auto unanswered = std::exchange(pipeline_, {});
    auto unsent = std::exchange(waiting_, {});
    waiting_bytes_ = 0;
    const auto tell = [&](entry item) {
        const bool was_told = std::exchange(item.is_told, true);
        const bool has_future = link_.state() != core::reconnection::phase::closed;
        const bool is_release = item.what->is_owed(index_);
        if (is_release) ++releases;
        if (has_future && is_release) owe(item);
        if (!was_told) item.what->on_failure(index_, item.round, why, now);
    };
    while (!unanswered.empty()) tell(unanswered.pop().what);
    for (queued& q : unsent) tell(std::move(q.item));
    return releases;
}

duration session::node_timeout() const noexcept {
    const duration given = options_->node_timeout;
    if (given == duration::zero() && !round_trip_.is_known() && is_unheard_of()) {
        return std::clamp<duration>(options_->connect_timeout, core::shortest_node_timeout,
                                    core::longest_node_timeout);
    }
    return core::node_timeout(given, round_trip_.get());
}

std::string session::lateness() const {
    const duration took = round_trip_.get();
    if (node_timeout() >= took) return {};
    const auto brief = [](duration d) {
        return text::brief(std::chrono::ceil<std::chrono::microseconds>(d));
    };
    const auto enough = std::chrono::ceil<std::chrono::milliseconds>(core::enough_for(took));
    return "its round trip took " + brief(took) + ", and node_timeout is " +
           brief(node_timeout()) + ": set it to " + brief(enough) +
           (enough <= core::longest_node_timeout ? ", or to 0, by measurement" : "");
}

time_point session::stall_deadline() const noexcept {
    if (pipeline_.empty()) return time_point::max();
    // Commands that were sent together are answered one after the other. Together they may take
    // longer, so the time counts from the latest answer.
    const time_point since = std::max(pipeline_.waiting_since(), last_answer_);
    return since + std::max<duration>(options_->connect_timeout, 10 * node_timeout());
}

time_point session::deadline() const noexcept {
    return std::min({link_.deadline(), pipeline_.deadline(), stall_deadline(), owed_.due()});
}

void session::on_time(time_point now) {
    pipeline_.expire(now, [&](entry& item) {
        counts_->timeouts.add();
        if (std::exchange(item.is_told, true)) return;
        const call_ptr what = item.what;  // the call may submit more, and move the entries
        what->on_failure(index_, item.round, {vote::timed_out, errc::timed_out, lateness()}, now);
    });
    if (now >= owed_.due()) probe_owed(now);
    if (now >= stall_deadline()) {
        give_up({vote::timed_out, errc::timed_out, "nothing answered on its connection"}, true, now);
        return;
    }
    switch (link_.on_time(now)) {
        case core::reconnection::action::none: break;
        case core::reconnection::action::give_up:
            give_up({vote::timed_out, errc::timed_out, "could not connect in time"}, true, now);
            break;
        case core::reconnection::action::open: wire_->open(); break;
    }
}

leftovers session::close(time_point now) {
    if (link_.state() == core::reconnection::phase::closed) return {};
    leftovers left{owed_.size(), last_failure_};
    if (link_.is_ready() || !left.why.error) {
        left.why = {vote::timed_out, errc::timed_out, {}};
    }
    link_.close();
    wire_->drop();
    left.releases += tell_all({vote::unreachable, errc::client_closed, {}}, now);
    owed_.clear();
    return left;
}

}  // namespace redlock::detail

// One node.
// SPDX-License-Identifier: MIT
#include "client/session.hpp"

#include "value/options.hpp"
#include "value/text.hpp"
#include "wire/failure.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace redlock::detail {

namespace {

// Of one reply. The longest is an inspection's: four for each slot, and the readers and waiters.
constexpr std::size_t most_elements = 8192;
constexpr std::size_t most_owed_bytes = 1U << 20;  // at once

core::node_error error_of(const resp::reply& reply) {
    using enum core::node_error;
    if (reply.type() != resp::reply_type::error) return none;
    if (reply.is_error("NOSCRIPT")) return lacks_script;
    if (reply.is_error("NOPERM")) return lacks_right;
    const auto& states = core::passing_errors;
    const bool is_state = std::ranges::any_of(states, [&](std::string_view state) {
        return reply.is_error(state);
    });
    const bool was_killed = reply.text().find(core::killed_script) != std::string_view::npos;
    return is_state || was_killed ? passing : other;
}

template <class Sessions, class F>
std::array<duration, max_nodes> of_each(const Sessions& sessions, F&& time_of) noexcept {
    std::array<duration, max_nodes> each{};
    std::transform(sessions.begin(), sessions.end(), each.begin(), time_of);
    return each;
}

wire::failure unsent(wire::failure why) {
    why.is_unsent = true;
    return why;
}

}  // namespace

session::session(std::size_t index, const client_options& options, transport& wire,
                 session_owner& owner, traffic& counts, session_limits limits)
    // INFO is the longest reply by far; a request is answered in 200 bytes, or by an error that
    // names a key.
    : connection(index, options, wire, owner,
                 {.max_reply_bytes = 1U << 20, .max_elements = most_elements}),
      owner_(&owner),
      counts_(&counts),
      limits_(limits),
      handshake_(options.nodes[index], options),
      batch_(options.fencing ? wire::record_key(options.key_prefix) : std::string()) {}

bool session::is_full(std::size_t more_bytes) const noexcept {
    return pipeline_.size() + waiting_.size() >= limits_.max_requests ||
           outgoing().size() + batch_.bytes() + waiting_bytes_ + more_bytes > limits_.max_bytes;
}

std::optional<wire::failure> session::submit(call_ptr what, std::uint32_t round,
                                             const wire::request& text, time_point now) {
    assert(what);
    const bool is_release = what->is_owed(index());
    // Releases are bounded by the leases in flight: refusing them would only leave keys behind.
    if (!is_release && is_full(text.size())) {
        return wire::failure{vote::unreachable, errc::backlog,
                             "too much waits for this node already"};
    }
    const bool is_served = is_ready() || link().is_hopeful();
    if (is_served && what->begins_lease() && owed_.size() >= limits_.max_owed) {
        return wire::failure{vote::unreachable, errc::backlog,
                             "too many releases are owed to this node already"};
    }
    entry item{std::move(what), round};
    if (is_ready()) {
        if (auto why = refuse(text)) return why;
        send(std::move(item), text, now);
        return std::nullopt;
    }
    if (link().is_hopeful()) {
        waiting_bytes_ += text.size();
        waiting_.push_back({std::move(item), text.is_command() ? text : wire::request()});
        return std::nullopt;
    }
    if (is_release) {
        item.is = state::reported;  // by what is returned
        owe(std::move(item));
    }
    return last_failure_;
}

std::optional<wire::failure> session::refuse(const wire::request& text) const {
    if (keep_limit_.allows(text.keeps_for)) return std::nullopt;
    const auto whole = std::chrono::ceil<std::chrono::microseconds>(text.keeps_for);
    return wire::failure{vote::refused, errc::config_invalid,
                         "the ttl_max on its record is " + text::brief(keep_limit_.ttl_max()) +
                             ", and the lease would last " + text::brief(whole)};
}

void session::send(entry item, const wire::request& text, time_point now) {
    assert(item.what && is_ready());
    was_asked_ = true;
    const bool takes_command = has_delifeq_ && !text.command.empty();
    if (text.is_command() || takes_command) {
        end_turn();
        outgoing().append(takes_command ? text.command : text.words);
        counts_->commands.add();
    } else {
        if (!batch_.has_room_for(text)) end_turn();
        if (batch_.empty()) batch_begun_ = now;
        batch_.add(text);
        if (item.form == resp::script_form::whole) batch_form_ = resp::script_form::whole;
    }
    ++unwritten_;
    const time_point until = now + node_timeout(item.what->lease_ttl(item.round));
    pipeline_.push(std::move(item), now, until);
    assert(unwritten_ <= pipeline_.size());
}

void session::end_turn() {
    counts_->nodes[index()].owed_now.set(owed_.size());
    if (batch_.empty()) return;
    counts_->commands.add();
    assert(batch_.size() <= unwritten_ && unwritten_ <= pipeline_.size());
    assert(batch_.size() <= std::numeric_limits<std::uint8_t>::max());
    pipeline_.from_back(batch_.size()).requests = static_cast<std::uint8_t>(batch_.size());
    batch_.write(outgoing(), std::exchange(batch_form_, resp::script_form::by_hash),
                 {epoch_, time_limit()}, owner_->limits_of_fences());
}

// Nothing where the node's clock is not known.
std::optional<std::int64_t> session::time_limit() const noexcept {
    if (!clock_ahead_us_) return std::nullopt;
    const auto until = std::chrono::ceil<std::chrono::microseconds>(
        (batch_begun_ + core::good_for(node_timeout())).time_since_epoch());
    return until.count() + *clock_ahead_us_;
}

void session::set_record(const core::record_facts& record) {
    end_turn();  // requests before this go by the record before
    // An empty epoch is not compared; one that no record has never fits.
    const std::string_view known = record.exists ? std::string_view(record.epoch) : "-";
    epoch_ = is_guarded(options()) ? known : "";
    keep_limit_.set(record, is_guarded(options()));
}

bool session::send_again(entry& item, resp::script_form form, time_point now) {
    wire::request text;
    if (!item.what->write_again(index(), item.round, text, now)) return false;
    if (const auto why = refuse(text)) {
        if (item.report()) item.what->on_failure(index(), item.round, unsent(*why), now);
        return true;
    }
    item.form = form;
    item.requests = 1;
    send(std::move(item), text, now);
    return true;
}

void session::owe(entry item) {
    assert(item.what && item.what->is_owed(index()));
    owed_.owe(std::move(item));
    counts_->owed_releases.add();
    owner_->on_release_owed(index());
}

void session::greet(time_point now) {
    assert(pipeline_.empty() && batch_.empty());
    greeted_from_ = now;
    unwritten_ = 0;
    handshake_.begin(outgoing(), files_complaint());
}

void session::on_greeting(const resp::reply& reply, time_point now) {
    last_answer_ = now;
    auto found = handshake_.on_reply(reply);
    if (found == handshake::outcome::ask_more) {
        found = handshake_.ask_more(outgoing(), owner_->record_terms(index()));
        if (found == handshake::outcome::more) queried(now);
    }
    switch (found) {
        case handshake::outcome::more:
        case handshake::outcome::ask_more: break;
        case handshake::outcome::failed: give_up(handshake_.why(), true, now); break;
        case handshake::outcome::done: on_ready(now); break;
    }
}

void session::on_ready(time_point now) {
    const wire::failure unwanted = unsent(
        {vote::unreachable, make_error_code(boost::system::errc::operation_canceled), {}});
    greeted(now);
    counts_->connects.add();
    set_record(handshake_.result().record);
    has_delifeq_ = handshake_.result().has_delifeq;
    clock_ahead_us_.reset();  // it may be another machine now: the owner sets it again
    owner_->on_greeted(index(), handshake_.result(), greeted_from_, now);
    // What is owed goes before everything that was submitted since.
    send_owed(now);
    waiting_bytes_ = 0;
    for (queued& q : std::exchange(waiting_, {})) {
        if (!q.item.what->is_owed(index()) && !q.item.what->is_wanted(q.item.round)) {
            q.item.what->on_failure(index(), q.item.round, unwanted, now);
            continue;
        }
        // What it has to say may be another since the handshake.
        const bool is_request = q.text.words.empty();
        const auto form = is_request ? resp::script_form::by_hash : resp::script_form::whole;
        if (send_again(q.item, form, now)) continue;
        assert(!is_request);
        send(std::move(q.item), q.text, now);
    }
    owner_->on_node_up(index(), now - greeted_from_, now);
}

void session::send_owed(time_point now) {
    assert(is_ready());
    owed_.pay(
        now, [&] { return outgoing().size() + batch_.bytes() < most_owed_bytes; },
        [&](entry item) {
            const call_ptr what = item.what;
            send_again(item, resp::script_form::whole, now);
            what->on_paid(now);
        });
}

void session::probe_owed(time_point now) {
    assert(is_ready());
    auto first = owed_.take_first();
    if (!first) return;
    first->is = state::probe;
    send_again(*first, resp::script_form::whole, now);
}

void session::on_reply(const resp::reply& reply, time_point now) {
    if (pipeline_.size() <= unwritten_) {
        return give_up(
            {vote::unreachable, errc::protocol_error, "a reply that answers no command"}, true,
            now);
    }
    // The login is no longer worth anything: the next connection has one of its own.
    if (reply.is_error("NOAUTH")) return give_up(wire::read_failure(reply), true, now);
    last_answer_ = now;
    counts_->nodes[index()].round_trip.add(now - pipeline_.waiting_since());
    const std::size_t requests = pipeline_.front().requests;
    assert(requests > 0 && requests <= pipeline_.size() - unwritten_);
    if (requests == 1) return answered(pipeline_.pop(), reply, false, now);
    const bool is_list = reply.type() == resp::reply_type::array;
    const bool is_error = reply.type() == resp::reply_type::error;
    if (!is_error && !(is_list && reply.size() == requests)) {
        return give_up({vote::unreachable, errc::protocol_error,
                        "a reply to another number of requests than were sent"},
                       true, now);
    }
    // What the calls do may end the connection, which then knows nothing of these any more.
    std::vector<slot> all = std::move(answered_);
    all.clear();
    for (std::size_t i = 0; i < requests; ++i) all.push_back(pipeline_.pop());
    for (std::size_t i = 0; i < requests; ++i) {
        answered(std::move(all[i]), is_list ? reply[i] : reply, is_error, now);
    }
    all.clear();
    answered_ = std::move(all);
}

// `is_of_many`: the reply is an error, to a command of many requests, none of which was done.
void session::answered(slot first, const resp::reply& reply, bool is_of_many, time_point now) {
    entry& item = first.what;
    if (first.expired) counts_->late_replies.add();
    const core::node_error error = error_of(reply);
    const core::answered_request what{.is_connected = is_ready(),
                                .is_late = first.expired,
                                .is_owed = item.what->is_owed(index()),
                                .is_wanted = item.what->is_wanted(item.round),
                                .is_by_hash = item.form == resp::script_form::by_hash,
                                .is_of_many = is_of_many};
    if (core::is_sent_again(what, error)) {
        const bool goes_alone = error == core::node_error::lacks_right;
        const auto form = goes_alone ? item.form : resp::script_form::whole;
        if (goes_alone) end_turn();
        if (send_again(item, form, now)) return goes_alone ? end_turn() : void();
    }
    const state was = std::exchange(item.is, state::reported);
    switch (core::left_owed(what, error)) {
        case core::owed_release::to_connection: owe(item); break;
        // The call gets its failure now.
        // Without a connection nothing is tried until there is one again.
        case core::owed_release::to_rest:
            is_ready() ? owed_.refused(item, now) : owed_.owe(item);
            break;
        case core::owed_release::settled:
            if (was != state::probe) break;
            item.what->on_paid(now);
            if (is_ready()) send_owed(now);
    }
    if (was == state::awaited) item.what->on_reply(index(), item.round, reply, now);
    else if (first.expired) item.what->on_late_reply(index(), item.round, reply, now);
}

void session::on_end(const wire::failure& why, time_point now) {
    counts_->disconnects.add();
    last_failure_ = why;
    owed_.disconnected();
    tell_all(why, now);
    owner_->on_node_down(index(), why, now);
}

void session::reconnect(const wire::failure& why, time_point now) {
    if (is_ready()) give_up(why, false, now);
}

bool session::is_idle() const noexcept {
    return pipeline_.empty() && owed_.size() == 0 &&
           std::ranges::none_of(waiting_, [this](const queued& q) {
               return q.item.what->is_owed(index());
           });
}

// Returns how many of the commands without an answer were releases.
std::size_t session::tell_all(const wire::failure& why, time_point now) {
    std::size_t releases = 0;
    // The calls may submit again while they get their failures, so everything is taken out first.
    auto unanswered = std::exchange(pipeline_, {});
    batch_.clear();
    batch_form_ = resp::script_form::by_hash;
    auto waiting = std::exchange(waiting_, {});
    waiting_bytes_ = 0;
    const auto tell = [&](entry item, const wire::failure& its) {
        const bool is_news = item.report();
        const bool has_future = link().state() != phase::closed;
        const bool is_release = item.what->is_owed(index());
        if (is_release) ++releases;
        if (has_future && is_release) owe(item);
        if (is_news) item.what->on_failure(index(), item.round, its, now);
    };
    while (!unanswered.empty()) tell(unanswered.pop().what, why);
    for (queued& q : waiting) tell(std::move(q.item), unsent(why));
    return releases;
}

std::string session::lateness() const {
    const duration took = round_trip();
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
    return extended(since + longest_silence());
}

time_point session::deadline() const noexcept {
    // Without a connection nothing is paid: the next handshake begins with what is owed.
    const time_point debts_due = is_ready() ? owed_.due() : time_point::max();
    return std::min({link_deadline(), extended(pipeline_.deadline()), stall_deadline(), debts_due});
}

void session::on_time(time_point now) {
    pipeline_.expire(now - owner_->own_delay().extra(), [&](entry& item) {
        counts_->timeouts.add();
        if (!item.report()) return;
        const call_ptr what = item.what;  // the call may submit more, and move the entries
        what->on_failure(index(), item.round, {vote::timed_out, errc::timed_out, lateness()}, now);
    });
    if (is_ready() && now >= owed_.due()) probe_owed(now);
    if (now >= stall_deadline()) {
        return give_up({vote::timed_out, errc::timed_out, "nothing answered on its connection"},
                       true, now);
    }
    on_link_time(now);
}

leftovers session::close(time_point now) {
    if (link().state() == phase::closed) return {};
    leftovers left{owed_.size(), last_failure_};
    if (is_ready() || !left.why.error) {
        left.why = {vote::timed_out, errc::timed_out, {}};
    }
    stop_for_good();
    left.releases += tell_all({vote::unreachable, errc::client_closed, {}}, now);
    owed_.clear();
    assert(is_idle());
    counts_->nodes[index()].owed_now.set(0);
    return left;
}

node_sessions::fan_out node_sessions::send(call& what, std::uint32_t round,
                                           const wire::request& text, time_point now,
                                           node_mask mask) const {
    assert((mask - all()).empty());
    fan_out result;
    for (const std::size_t i : mask) {
        if (auto why = (*this)[i].submit(call_ptr(&what), round, text, now)) {
            result.failures.emplace_back(i, std::move(*why));
        } else {
            result.sent.insert(i);
        }
    }
    return result;
}

duration node_sessions::time_for_all(duration ttl) const noexcept {
    assert(size() > 0);
    const auto each = of_each(*this, [ttl](const auto& s) { return s->node_timeout(ttl); });
    return *std::max_element(each.begin(), each.end());
}

duration node_sessions::time_for_quorum(const node_lists& lists) const noexcept {
    return lists.quorum_th(
        of_each(*this, [](const auto& s) { return s->node_timeout(core::any_ttl); }));
}

duration node_sessions::shortest_time_for_quorum(const node_lists& lists) const noexcept {
    return lists.quorum_th(of_each(*this, [](const auto& s) { return s->shortest_timeout(); }));
}

duration node_sessions::round_trip(const node_lists& lists) const noexcept {
    return lists.quorum_th(of_each(*this, [](const auto& s) {
        return std::min<duration>(s->round_trip(), s->node_timeout());
    }));
}

}  // namespace redlock::detail

// What this client knows of its nodes.
// SPDX-License-Identifier: MIT
#include "runtime/roster.hpp"

#include "lease_terms.hpp"
#include "net/answers.hpp"
#include "resp/command.hpp"
#include "runtime/engine.hpp"
#include "text.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

namespace redlock::detail {

using namespace std::chrono_literals;
using core::birth;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

// How often the nodes are asked for their time and their epoch. It also finds connections that died
// unseen.
constexpr duration between_probes = 5s;

// Beyond that many it is the same mistake, and memory is bounded.
constexpr std::size_t most_without_fence = 16;

}  // namespace

/// A question about the node itself, which no operation waits for.
class roster::errand final : public net::call {
public:
    enum class about : std::uint8_t { record, time, epoch };

    errand(roster& home, about what, birth::task task, time_point sent)
        : home_(&home), what_(what), task_(task), sent_(sent) {}

private:
    void on_reply(std::size_t node, std::uint32_t, const resp::reply& reply,
                  time_point now) override {
        if (what_ == about::record) return home_->on_errand(node, task_, reply, sent_, now);
        if (what_ == about::epoch) return home_->on_epoch_told(node, reply, now);
        home_->facts_[node].is_doubted = false;
        if (const auto told = net::read_time(reply)) {
            home_->on_time_told(node, {*told, sent_, now}, now);
        }
    }
    void on_failure(std::size_t node, std::uint32_t, const net::failure&,
                    time_point now) override {
        if (what_ == about::record) home_->on_errand_failed(node, now);
        if (what_ == about::time) home_->facts_[node].is_doubted = false;
    }
    /// Not behind the next handshake, which finds all this out for itself.
    bool is_wanted(std::uint32_t) const noexcept override { return false; }

    roster* home_;
    about what_;
    birth::task task_;
    time_point sent_;
};

roster::roster(engine& home)
    : home_(&home),
      record_key_(net::record_key(home.options().key_prefix)),
      guard_(home.size(), is_guarded(home.options()), home.options().ttl_max, home.drift()),
      birth_(home.size(),
             is_guarded(home.options()) && home.options().guard == restart_guard::automatic,
             home.options().ttl_max / 2, home.host().fresh_owner().to_string()),
      clocks_(home.size(), core::fence_tolerance(home.options().ttl_max), home.drift()),
      facts_(home.size()),
      is_settled_(!home.options().fencing) {}

roster::~roster() = default;

net::session& roster::session(std::size_t node) const noexcept { return home_->node(node); }

void roster::start(time_point now) {
    settle_by_ = now + home_->options().connect_timeout;
    if (!is_settled_) home_->arm(settle_alarm_, settle_by_);
    home_->arm(probe_alarm_, now + between_probes);
}

void roster::close() noexcept {
    is_closed_ = true;
    for (alarm* a : {&settle_alarm_, &birth_alarm_, &probe_alarm_, &regreet_alarm_}) a->cancel();
}

net::record_request roster::record_wanted() {
    return {.key = record_key_,
            .epoch = home_->host().fresh_owner().to_string(),
            .mark = birth_.mark(),
            .ttl_max = home_->options().ttl_max,
            .what = birth_.greeting()};
}

void roster::on_greeted(std::size_t node, const net::greeting& told, time_point began,
                        time_point now) {
    facts_[node].is_met = true;
    facts_[node].server = told.server;
    if (told.time_us) on_time_told(node, {*told.time_us, began, now}, now);
    guard_.met(node, told.server, now);
    if (told.server.is_master) report_concerns(node, told.settings);
    if (!is_guarded(home_->options())) return;
    if (!told.server.is_master) return birth_.down(node);  // it has told of no record, and has no vote
    if (guard_.first_of(node) != node) birth_.excuse(node);
    else birth_.found(node, told.record, now, began);
    on_record(node, told.record, now);
}

void roster::on_record(std::size_t node, const core::record_facts& record, time_point now) {
    node_facts& f = facts_[node];
    if (f.epoch != record.epoch) f.forgot_at = ++breaks_;
    f.epoch = record.epoch;
    const milliseconds own = home_->options().ttl_max;
    if (record.exists && record.ttl_max != own && record.ttl_max != told_ttl_max_) {
        told_ttl_max_ = record.ttl_max;
        const std::string detail = "another client's ttl_max is " +
                                   text::brief(record.ttl_max) + ", ours " + text::brief(own) +
                                   "; the larger counts: give all clients the same";
        home_->emit({.kind = event_kind::node_reported, .severity = severity::warning,
                     .node = home_->name(node), .error = errc::config_invalid, .detail = detail});
    }
    guard_.read(node, record, now);
    clocks_.set_tolerance(core::fence_tolerance(guard_.ttl_max()));
    judge_clocks(now);
    session(node).set_record(record);
}

void roster::on_node_down(std::size_t node, time_point now) {
    facts_[node].broke_at = ++breaks_;
    birth_.down(node);
    drive(now);
}

void roster::drive(time_point now) {
    if (is_closed_) return;
    for (const auto& order : birth_.due(now)) run(order, now);
    home_->arm(birth_alarm_, birth_.deadline());
    settle(now);
    report(now);
}

void roster::run(const birth::order& o, time_point now) {
    auto request = record_wanted();
    request.what = o.what;
    std::string wire;
    net::write_record_call(wire, request, facts_[o.node].server);
    const net::call_ptr what(new errand(*this, errand::about::record, o.what, now));
    net::session& to = session(o.node);
    if (!to.is_ready() || to.submit(what, 0, wire, net::tail::none, now)) birth_.down(o.node);
}

void roster::on_errand(std::size_t node, birth::task what, const resp::reply& reply,
                       time_point asked, time_point now) {
    const bool is_number = reply.type() == resp::reply_type::integer;
    if (what == birth::task::open || what == birth::task::withdraw) {
        if (!is_number) return on_errand_failed(node, now);
        if (reply.integer() == 1 && what == birth::task::open) guard_.opened(node, now);
        birth_.done(node, now);
    } else if (const auto answer = net::read_record(reply); answer.record) {
        birth_.found(node, *answer.record, now, asked);
        on_record(node, *answer.record, now);
    } else {
        return on_errand_failed(node, now);
    }
    drive(now);
}

// It may have been done all the same: the next handshake tells.
void roster::on_errand_failed(std::size_t node, time_point now) {
    birth_.down(node);
    greet_again(node, now);
    drive(now);
}

void roster::on_time_told(std::size_t node, const core::clock_reading& reading, time_point now) {
    const duration jump = clocks_.read(node, reading);
    session(node).set_clock(*clocks_.ahead_us(node));
    if (jump != duration::zero()) {
        guard_.jumped(node, now);
        const std::string detail = "its clock jumped by " +
                                   text::brief(std::chrono::duration_cast<microseconds>(
                                       std::chrono::abs(jump))) +
                                   (jump < duration::zero() ? " back" : "") +
                                   "; keys may have run out early, so it has no vote for a while";
        home_->emit({.kind = event_kind::node_reported, .severity = severity::warning,
                     .node = home_->name(node), .error = errc::clock_skew, .detail = detail});
    }
    judge_clocks(now);
}

void roster::on_epoch_told(std::size_t node, const resp::reply& reply, time_point now) {
    const bool is_known = reply.type() != resp::reply_type::string ||
                          reply.text() == facts_[node].epoch || birth_.is_pending();
    if (!is_known && facts_[node].server.is_master) greet_again(node, now);
}

void roster::judge_clocks(time_point now) {
    for (std::size_t i = 0; i < facts_.size(); ++i) {
        guard_.set_skewed(i, clocks_.is_skewed(i), now);
    }
}

// One question tells for all commands that were late.
void roster::doubt_clock(std::size_t node, time_point now) {
    if (facts_[node].is_doubted || !session(node).is_ready()) return;
    std::string wire;
    resp::append_command(wire, {"TIME"});
    const net::call_ptr what(new errand(*this, errand::about::time, {}, now));
    facts_[node].is_doubted = !session(node).submit(what, 0, wire, net::tail::none, now);
}

void roster::probe(time_point now) {
    std::string ask_time;
    std::string ask_epoch;
    resp::append_command(ask_time, {"TIME"});
    resp::append_command(ask_epoch, {"GETRANGE", record_key_, "0", "21"});
    const auto ask = [&](std::size_t node, errand::about what, const std::string& wire) {
        session(node).submit(net::call_ptr(new errand(*this, what, {}, now)), 0, wire,
                             net::tail::none, now);
    };
    for (std::size_t i = 0; i < facts_.size(); ++i) {
        if (!session(i).is_ready()) continue;
        // Whether a replica has become a master is told in the handshake only.
        if (!facts_[i].server.is_master) greet_again(i, now);
        ask(i, errand::about::time, ask_time);
        // The quarantine of a node that was flushed begins when somebody sees it.
        if (is_guarded(home_->options())) ask(i, errand::about::epoch, ask_epoch);
    }
    home_->arm(probe_alarm_, now + between_probes);
    report(now);
}

void roster::greet_again(std::size_t node, time_point now) {
    if (is_closed_) return;
    // Not from here: the answer that showed it may stand among others that are still to be read.
    to_greet_ |= node_mask{1} << node;
    home_->arm(regreet_alarm_, now);
}

void roster::regreet(time_point now) {
    const net::failure why{vote::unreachable, errc::in_quarantine,
                           "it is no longer what it was in the handshake; greeting it again"};
    for (node_mask left = std::exchange(to_greet_, 0); left != 0; left &= left - 1) {
        session(static_cast<std::size_t>(std::countr_zero(left))).reconnect(why, now);
    }
}

bool roster::may_settle(time_point now) const noexcept {
    std::size_t voters = 0;
    bool is_hoping = birth_.is_pending();
    for (std::size_t i = 0; i < facts_.size(); ++i) {
        if (session(i).is_ready() && guard_.votes_from(i) <= now) ++voters;
        is_hoping = is_hoping || session(i).is_unheard_of();
    }
    return voters >= core::quorum(facts_.size()) || !is_hoping || now >= settle_by_;
}

void roster::settle(time_point now) {
    if (is_settled_ || !may_settle(now)) return;
    is_settled_ = true;
    settle_alarm_.cancel();
    home_->on_settled(now);
}

// Tells once what keeps a node from voting; while nodes may still be opened that is nothing.
void roster::report(time_point now) {
    if (birth_.is_pending()) return;
    for (std::size_t i = 0; i < facts_.size(); ++i) {
        if (!session(i).is_ready()) continue;
        const error_code why = guard_.objection(i, now);
        if (std::exchange(facts_[i].reported, why) == why || !why) continue;
        const auto o = object(i, now, now);
        if (!o) continue;
        home_->emit({.kind = event_kind::node_reported, .severity = severity::warning,
                     .node = home_->name(i), .error = why,
                     .duration = std::chrono::duration_cast<microseconds>(o->left),
                     .detail = o->why.detail});
    }
}

// Once for each node, and again where a handshake did not show it in between.
void roster::report_concerns(std::size_t node, const net::server_settings& settings) {
    unsigned found = 0;
    for (const auto& c :
         net::find_concerns(settings, is_guarded(home_->options()), guard_.ttl_max())) {
        const unsigned bit = 1U << static_cast<unsigned>(c.what);
        found |= bit;
        if ((facts_[node].concerns & bit) != 0) continue;
        home_->emit({.kind = event_kind::node_reported, .severity = c.severity,
                     .node = home_->name(node), .detail = c.text});
    }
    facts_[node].concerns = found;
}

void roster::found_without_fence(std::size_t node, std::string_view resource,
                                 std::string_view holder) {
    const auto& known = without_fence_;
    if (known.size() == most_without_fence ||
        std::find(known.begin(), known.end(), resource) != known.end()) {
        return;
    }
    without_fence_.emplace_back(resource);
    const std::string detail =
        "held by " + std::string(holder) +
        " with no fence of ours beside it: either that client has another key_prefix under which "
        "another resource is the same key (\"app:\" with \"r\", and \"\" with \"app:r\"), and then the "
        "fences of the two do not rise over each other: give all clients one key_prefix; or it has "
        "fencing off, and its leases have no fence: turn it on everywhere or nowhere";
    home_->emit({.kind = event_kind::node_reported, .severity = severity::warning,
                 .resource = resource, .node = home_->name(node), .detail = detail});
}

std::optional<objection> roster::object(std::size_t node, time_point sent, time_point now) const {
    if (guard_.votes_from(node) <= sent) return std::nullopt;
    objection o{{vote::refused, guard_.objection(node, now), {}}};
    if (o.why.error == errc::duplicate_node) {
        o.why.detail = "it is the same server as " + home_->name(guard_.first_of(node)).str();
    } else if (o.why.error == errc::clock_skew) {
        const duration skew = clocks_.skew(node).value_or(duration::zero());
        o.why.detail = "its clock is " +
                       text::brief(std::chrono::duration_cast<microseconds>(
                           std::chrono::abs(skew))) +
                       (skew < duration::zero() ? " behind" : " ahead of") +
                       " the median of the nodes";
    } else if (!guard_.may_be_asked(node)) {
        o.why.detail = "it is a replica";
    } else {
        o.why.answer = vote::quarantine;
        o.why.error = errc::in_quarantine;
        o.left = std::chrono::ceil<milliseconds>(guard_.quarantine_left(node, now));
        if (guard_.has_jumped(node, now)) o.why.detail = "its clock jumped";
    }
    return o;
}

node_mask roster::askable() const noexcept {
    node_mask mask = 0;
    for (std::size_t i = 0; i < facts_.size(); ++i) {
        if (guard_.may_be_asked(i)) mask |= node_mask{1} << i;
    }
    return mask;
}

fence_terms roster::terms(std::uint64_t fence) const noexcept {
    return {fence, clocks_.tolerance(), 2 * duration(guard_.ttl_max()),
            home_->options().key_prefix, record_key_};
}

std::optional<fence_terms> roster::propose(std::uint64_t seen, time_point now) {
    const auto fence = fences_.next(seen, clocks_.now_us(now).value_or(0), clocks_.tolerance());
    if (!fence) return std::nullopt;
    return terms(*fence);
}

bool roster::is_plausible(std::uint64_t fence, time_point now) const noexcept {
    const auto latest = clocks_.now_us(now).value_or(0) +
                        std::chrono::floor<microseconds>(clocks_.tolerance()).count();
    return latest > 0 && fence <= static_cast<std::uint64_t>(latest);
}

std::optional<fence_terms> roster::to_raise(std::size_t node, const footprint& what) const {
    const node_facts& f = facts_[node];
    // What was sent under another record can't take anything any more, and a fence that the node
    // has forgotten counts as more than what was written down then. So only a break since then can
    // hide something that still can.
    const bool may_arrive = f.broke_at > std::max(what.born, f.forgot_at);
    if (what.highest_fence == 0 || !may_arrive) return std::nullopt;
    return terms(what.highest_fence);
}

}  // namespace redlock::detail

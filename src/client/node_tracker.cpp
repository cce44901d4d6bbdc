// What this client knows of its nodes.
// SPDX-License-Identifier: MIT
#include "client/node_tracker.hpp"

#include "value/lease_terms.hpp"
#include "value/text.hpp"
#include "wire/failure.hpp"
#include "wire/fenced.hpp"
#include "wire/keys.hpp"
#include "wire/node_set.hpp"
#include "wire/resp/command.hpp"
#include "wire/tail.hpp"
#include "wire/time.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <utility>

namespace redlock::detail {

using namespace std::chrono_literals;
using core::bootstrap;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

// How often the nodes' clocks and records are read. This also finds connections that died silently.
constexpr duration between_probes = 5s;

// The offset on a record is written again when it is so old: at every probe, by one of the clients.
constexpr duration refreshed_after = between_probes * 4 / 5;

// Further resources are not reported: it is the same mistake, and memory is bounded.
constexpr std::size_t most_without_fence = 16;

}  // namespace

/// A question about the node itself, which no operation waits for.
class node_tracker::query final : public call {
public:
    using written = std::function<void(std::string&, resp::script_form)>;
    using answered = void (node_tracker::*)(const query&, std::size_t, const resp::reply&,
                                            time_point);
    using failed = void (node_tracker::*)(std::size_t, time_point);

    query(node_tracker& home, written write, answered on_answer, failed on_none, time_point at,
          bootstrap::task what = bootstrap::task::look)
        : sent(at), task(what), home_(&home), write_(std::move(write)), on_answer_(on_answer),
          on_none_(on_none) {}

    const time_point sent;
    const bootstrap::task task;

    void write(std::string& out, resp::script_form form) const { write_(out, form); }

private:
    void on_reply(std::size_t node, std::uint32_t, const resp::reply& reply,
                  time_point now) override {
        (home_->*on_answer_)(*this, node, reply, now);
    }
    void on_failure(std::size_t node, std::uint32_t, const wire::failure&,
                    time_point now) override {
        (home_->*on_none_)(node, now);
    }
    /// It is sent at once or not at all: never after the next handshake, which reads all this
    /// itself.
    bool is_wanted(std::uint32_t) const noexcept override { return true; }
    std::optional<wire::tail> write_with_script(std::size_t, std::uint32_t,
                                                std::string& out) const override {
        write(out, resp::script_form::whole);
        return wire::tail::none;
    }

    node_tracker* home_;
    written write_;
    answered on_answer_;
    failed on_none_;
};

node_tracker::node_tracker(context& shared, node_sessions& nodes, tracker_owner& owner)
    : shared_(&shared),
      nodes_(&nodes),
      owner_(&owner),
      record_key_(wire::record_key(shared.options().key_prefix)),
      set_(wire::node_set(shared.options())),
      eligibility_(shared.size(), is_guarded(shared.options()), shared.options().ttl_max,
                   shared.drift()),
      bootstrap_(shared.size(),
                 is_guarded(shared.options()) && shared.options().guard == restart_guard::automatic,
                 shared.options().ttl_max / 2, shared.fresh_owner().to_string()),
      clocks_(shared.size(), core::fence_tolerance(shared.options().ttl_max), shared.drift()),
      disruptions_(shared.size()),
      facts_(shared.size()),
      is_settled_(!shared.options().fencing) {}

node_tracker::~node_tracker() = default;

session& node_tracker::session_of(std::size_t node) const noexcept { return (*nodes_)[node]; }

void node_tracker::start(time_point now) {
    connect_by_ = settle_by_ = now + shared_->options().connect_timeout;
    if (!is_settled_) shared_->arm(settle_alarm_, settle_by_);
    shared_->arm(probe_alarm_, now + between_probes);
}

void node_tracker::close() noexcept {
    is_closed_ = true;
    for (alarm* a : {&settle_alarm_, &bootstrap_alarm_, &probe_alarm_, &regreet_alarm_})
        a->cancel();
}

wire::record_request node_tracker::record_wanted() const {
    return {.key = record_key_,
            .set = set_,
            .epoch = shared_->fresh_owner().to_string(),
            .mark = bootstrap_.mark(),
            .ttl_max = shared_->options().ttl_max,
            .only_peeks = !is_guarded(shared_->options())};
}

void node_tracker::write_declaration(std::string& out, std::size_t node) const {
    wire::write_declaration(out, record_wanted(), facts_[node].server);
}

void node_tracker::on_greeted(std::size_t node, const greeting& told, time_point began,
                              time_point now) {
    facts_[node].server = told.server;
    facts_[node].look = looking::idle;
    facts_[node].clock_write = writing::idle;
    eligibility_.met(node, told.server, now);
    if (told.time_us) on_time(node, {*told.time_us, began, now}, now);
    if (told.server.is_master) report_concerns(node, told.settings);
    if (!shared_->options().fencing) return;
    // A replica reports no record, and has no vote.
    if (!told.server.is_master) return bootstrap_.down(node);
    if (!is_guarded(shared_->options())) return eligibility_.read(node, told.record, now);
    unsettle(now);
    if (!told.record.other_set.empty()) bootstrap_.note_other_set(node);
    else if (eligibility_.first_of(node) != node) bootstrap_.excuse(node);
    else bootstrap_.found(node, told.record, now, began);
    on_record(node, told.record, now);
}

void node_tracker::on_record(std::size_t node, const core::record_facts& record, time_point now) {
    node_facts& f = facts_[node];
    if (eligibility_.record_of(node).epoch != record.epoch) disruptions_.forgot(node);
    f.read_at = now;
    report_ttl_max(node, record);
    eligibility_.read(node, record, now);
    clocks_.set_recorded(node, record.offset);
    clocks_.set_tolerance(core::fence_tolerance(eligibility_.ttl_max()));
    judge_skew(now);
    session_of(node).set_record(record);
}

void node_tracker::report_ttl_max(std::size_t node, const core::record_facts& record) {
    const milliseconds own = shared_->options().ttl_max;
    if (!record.exists || record.ttl_max == own) return;
    const bool is_known = std::any_of(facts_.begin(), facts_.end(), [&](const node_facts& f) {
        return f.told_ttl_max == record.ttl_max;
    });
    facts_[node].told_ttl_max = record.ttl_max;
    if (is_known) return;
    const std::string detail = "another client's ttl_max is " + text::brief(record.ttl_max) +
                               ", ours " + text::brief(own) +
                               "; the larger counts: give all clients the same";
    shared_->emit({.kind = event_kind::node_reported, .severity = severity::warning,
                   .node = shared_->name(node), .error = errc::config_invalid, .detail = detail});
}

void node_tracker::on_node_down(std::size_t node, time_point now) {
    disruptions_.broke(node);
    bootstrap_.down(node);
    drive(now);
}

void node_tracker::drive(time_point now) {
    if (is_closed_) return;
    for (const auto& order : bootstrap_.due(now)) run(order, now);
    shared_->arm(bootstrap_alarm_, bootstrap_.deadline());
    compare_clocks(now);
    settle(now);
    report(now);
}

// Whether the node took it.
bool node_tracker::send(std::size_t node, query* what, time_point now) {
    const call_ptr keep(what);
    if (!session_of(node).is_ready()) return false;
    std::string wire;
    what->write(wire, resp::script_form::by_hash);
    return !session_of(node).submit(keep, 0, wire, wire::tail::none, now);
}

void node_tracker::run(const bootstrap::order& o, time_point now) {
    // Not for a look at the record of another client's bootstrap: it is repeated until that ends.
    const bool is_a_look =
        o.what == bootstrap::task::look ||
        (o.what == bootstrap::task::make && eligibility_.record_of(o.node).exists);
    if (!is_a_look) extend_settling(o.node, now);
    auto* const what = new query(
        *this,
        [this, o](std::string& out, resp::script_form form) {
            wire::write_record_call(out, form, record_wanted(), o.what, facts_[o.node].server);
        },
        &node_tracker::on_bootstrap, &node_tracker::on_bootstrap_failed, now, o.what);
    if (!send(o.node, what, now)) bootstrap_.down(o.node);
}

void node_tracker::on_bootstrap(const query& of, std::size_t node, const resp::reply& reply,
                                time_point now) {
    const bootstrap::task what = of.task;
    const bool is_number = reply.type() == resp::reply_type::integer;
    if (what == bootstrap::task::open || what == bootstrap::task::withdraw) {
        if (!is_number) return on_bootstrap_failed(node, now);
        if (reply.integer() == 1 && what == bootstrap::task::open) eligibility_.opened(node, now);
        bootstrap_.done(node, now);
    } else if (const auto answer = wire::read_record(reply); answer.record) {
        if (!answer.record->other_set.empty()) bootstrap_.note_other_set(node);
        else bootstrap_.found(node, *answer.record, now, of.sent);
        on_record(node, *answer.record, now);
    } else {
        return on_bootstrap_failed(node, now);
    }
    drive(now);
}

// It may have been done all the same: the next handshake tells.
void node_tracker::on_bootstrap_failed(std::size_t node, time_point now) {
    bootstrap_.down(node);
    greet_again(node, now);
    drive(now);
}

// Reads the clock and, where there is one, the record, both in one command.
void node_tracker::look(std::size_t node, time_point now) {
    node_facts& f = facts_[node];
    if (f.look == looking::asked || !session_of(node).is_ready()) return;
    f.look = looking::asked;
    auto* const what = new query(
        *this,
        [this, node](std::string& out, resp::script_form form) { write_look(out, form, node); },
        &node_tracker::on_look, &node_tracker::on_look_failed, now);
    if (!send(node, what, now)) f.look = looking::failed;
}

void node_tracker::write_look(std::string& out, resp::script_form form, std::size_t node) const {
    const core::server_facts& server = facts_[node].server;
    // Without the guard the set is looked at again where it did not fit.
    const bool asks_record =
        is_guarded(shared_->options()) || !eligibility_.other_set_of(node).empty();
    if (asks_record && server.is_master) {
        auto wanted = record_wanted();
        wanted.is_much_later = true;
        wire::write_record_call(out, form, wanted, bootstrap::task::look, server);
    } else {
        resp::append_command(out, {"TIME"});
    }
}

void node_tracker::on_look(const query& of, std::size_t node, const resp::reply& reply,
                           time_point now) {
    facts_[node].look = looking::idle;
    if (facts_[node].clock_write == writing::done) facts_[node].clock_write = writing::idle;
    if (const auto time = wire::read_time(reply)) {
        on_time(node, {*time, of.sent, now}, now);
    } else if (const auto answer = wire::read_record(reply); answer.record) {
        const core::record_facts& record = *answer.record;
        on_time(node, {record.time_us, of.sent, now}, now);
        // The quarantine of a node that was flushed begins with the first handshake after it. Beside
        // a node of another set an empty one stays empty.
        const core::record_facts& before = eligibility_.record_of(node);
        const bool is_known = record.exists == before.exists && record.epoch == before.epoch &&
                              record.other_set == before.other_set;
        if (is_known) on_record(node, record, now);
        else if (!bootstrap_.is_pending()) greet_again(node, now);
    } else {
        return on_look_failed(node, now);
    }
    drive(now);
}

void node_tracker::on_look_failed(std::size_t node, time_point now) {
    facts_[node].look = looking::failed;
    drive(now);
}

void node_tracker::write_clock(std::size_t node, const core::clock_check& found, time_point now) {
    if (facts_[node].clock_write != writing::idle) return;
    if (found.moved_us != 0) report_step(node, found);
    extend_settling(node, now);
    // `known` is the record that the clock was compared with, also where the command is sent again.
    auto* const what = new query(
        *this,
        [this, known = eligibility_.record_of(node), found](std::string& out,
                                                            resp::script_form form) {
            wire::write_clock(out, form, record_wanted(), known, found);
        },
        &node_tracker::on_clock, &node_tracker::on_clock_failed, now);
    facts_[node].clock_write = send(node, what, now) ? writing::asked : writing::refused;
}

void node_tracker::on_clock(const query& of, std::size_t node, const resp::reply& reply,
                            time_point now) {
    const auto answer = wire::read_record(reply);
    if (!answer.record) return on_clock_failed(node, now);
    // Where another client wrote first, the clock is compared with what it wrote.
    facts_[node].clock_write = answer.record->made ? writing::done : writing::idle;
    if (!answer.record->exists) return greet_again(node, now);
    if (answer.record->made) clocks_.forget_jump(node);
    const bool is_struck = answer.record->epoch != eligibility_.record_of(node).epoch;
    on_record(node, *answer.record, now);
    // The clock may have stepped since it was compared, and then what was written is wrong. After a
    // strike that can wait for the next look: a clock that drifts without measure would be struck
    // again at once.
    if (!is_struck) on_time(node, {answer.record->time_us, of.sent, now}, now);
    drive(now);
}

// The node may be out of memory. The next probe tries again.
void node_tracker::on_clock_failed(std::size_t node, time_point now) {
    facts_[node].clock_write = writing::refused;
    drive(now);
}

void node_tracker::on_replication(const query&, std::size_t node, const resp::reply& reply,
                                  time_point now) {
    if (reply.type() != resp::reply_type::string) return;
    const core::server_facts& known = facts_[node].server;
    core::server_facts fresh;
    read_replication(reply.text(), fresh);
    if (fresh.is_master != known.is_master || fresh.replid != known.replid ||
        fresh.has_replicas != known.has_replicas) {
        greet_again(node, now);
    }
}

void node_tracker::on_time(std::size_t node, const core::clock_reading& reading, time_point now) {
    const duration jump = clocks_.read(node, reading);
    session_of(node).set_clock(*clocks_.ahead_us(node));
    judge_skew(now);
    if (jump == duration::zero() || !is_guarded(shared_->options())) return;
    eligibility_.doubt(node);
    // Its clock or ours: fresh readings of all nodes decide which.
    if (clocks_.is_fresh(node)) start_over(now);
    unsettle(now);
}

void node_tracker::start_over(time_point now) {
    clocks_.start_over(now);
    has_started_over_ = true;
    for (node_facts& f : facts_) {
        if (f.look == looking::failed) f.look = looking::idle;
    }
}

// Nodes may soon get their vote: acquires wait for that, for a short time.
void node_tracker::unsettle(time_point now) {
    if (!std::exchange(is_settled_, false)) return;
    connect_by_ = settle_by_ = now + shared_->options().connect_timeout;
    shared_->arm(settle_alarm_, settle_by_);
}

// The command that was just sent may give the node its vote: acquires wait for the answer, but no
// longer for many commands than for one.
void node_tracker::extend_settling(std::size_t node, time_point now) {
    if (is_settled_) return;
    settle_by_ = std::max(settle_by_, std::min(now, connect_by_) + session_of(node).node_timeout());
    shared_->arm(settle_alarm_, settle_by_);
}

void node_tracker::judge_skew(time_point now) {
    for (std::size_t i = 0; i < facts_.size(); ++i) {
        eligibility_.set_skewed(i, clocks_.is_skewed(i), now);
    }
}

bool node_tracker::is_looking() const noexcept {
    for (std::size_t i = 0; i < facts_.size(); ++i) {
        if (facts_[i].look == looking::asked || session_of(i).is_unheard_of()) return true;
    }
    return false;
}

void node_tracker::compare_clocks(time_point now) {
    if (!is_guarded(shared_->options())) return;
    if (const duration gap = clocks_.take_gap(); gap > duration::zero()) {
        owner_->on_clock_gap(gap, now);
    }
    for (std::size_t i = 0; i < facts_.size(); ++i) forgive_jump(i, now);
    // Other clients may have corrected the records since we read them. Striking by what we read
    // would undo their correction, and they would undo ours, and so on: so all is read again first.
    if (!is_looking() && !has_started_over_ && has_any_stepped(now)) {
        start_over(now);
        unsettle(now);
    }
    for (std::size_t i = 0; i < facts_.size(); ++i) {
        const bool is_idle = facts_[i].look == looking::idle;
        if (has_clock_on_record(i) && !clocks_.is_fresh(i) && is_idle) look(i, now);
    }
    const bool is_last = !is_looking();
    for (std::size_t i = 0; i < facts_.size(); ++i) compare_clock(i, is_last, now);
    if (!is_last) return;
    clocks_.rule_out_gap();
    has_started_over_ = false;
}

bool node_tracker::has_any_stepped(time_point now) const {
    for (std::size_t i = 0; i < facts_.size(); ++i) {
        if (!has_clock_on_record(i) || facts_[i].clock_write != writing::idle) continue;
        const auto found = clocks_.check(i, now, true);
        if (found && found->moved_us != 0) return true;
    }
    return false;
}

bool node_tracker::has_clock_on_record(std::size_t node) const noexcept {
    return session_of(node).is_ready() && facts_[node].server.is_master &&
           eligibility_.record_of(node).exists && eligibility_.first_of(node) == node;
}

// `is_last`: no other reading is under way. Until then no node is struck, since one more clock may
// decide where half of them stand against the other half; and nothing is written, since cluster
// time by some of the clocks may differ from that by all.
void node_tracker::compare_clock(std::size_t node, bool is_last, time_point now) {
    const core::record_facts& record = eligibility_.record_of(node);
    if (!has_clock_on_record(node)) return;
    const auto found = clocks_.check(node, now, is_last);
    if (!found) return;
    if (found->moved_us != 0) {
        eligibility_.doubt(node);
        if (is_last) write_clock(node, *found, now);
        return;
    }
    if (record.offset) eligibility_.compared(node, *found, now);
    // All records are written by one median: one by other nodes' clocks may differ.
    const bool is_fresh = record.offset && record.cluster_since_us &&
                          found->recorded_for < refreshed_after;
    if (is_last && !is_fresh) write_clock(node, *found, now);
}

// Where another client has struck the node meanwhile its quarantine covers the jump that we saw,
// too: striking it once more would have all other clients greet it again, and each strike it in its
// turn. The record must agree with the clock, and the quarantine have begun after our last reading
// before the jump. Only while it is young: no client has counted a vote since, and a second step
// could have spoiled none.
void node_tracker::forgive_jump(std::size_t node, time_point now) {
    const core::record_facts& record = eligibility_.record_of(node);
    const auto true_until = clocks_.ran_true_until(node);
    if (!true_until || record.since_us == 0 || !record.cluster_since_us) return;
    const auto found = clocks_.check(node, now, false);
    if (!found || found->moved_us != 0) return;
    const duration age = core::span_of(found->cluster_us - *record.cluster_since_us);
    if (age < eligibility_.ttl_max() / 2 && now - age > *true_until) clocks_.forget_jump(node);
}

void node_tracker::report_step(std::size_t node, const core::clock_check& found) {
    const std::string detail = "its clock stepped by " +
                               text::brief(microseconds(std::abs(found.moved_us))) +
                               (found.moved_us < 0 ? " back" : "") +
                               "; keys may have run out early, so it has no vote for a while";
    shared_->emit({.kind = event_kind::node_reported, .severity = severity::warning,
                   .node = shared_->name(node), .error = errc::clock_skew, .detail = detail});
}

void node_tracker::probe(time_point now) {
    for (std::size_t i = 0; i < facts_.size(); ++i) {
        if (!session_of(i).is_ready()) continue;
        // Whether a replica has become a master is told in the handshake only.
        if (!facts_[i].server.is_master) greet_again(i, now);
        if (facts_[i].clock_write == writing::refused) facts_[i].clock_write = writing::idle;
        look(i, now);
        if (is_guarded(shared_->options())) {
            send(i,
                 new query(
                     *this,
                     [](std::string& out, resp::script_form) {
                         resp::append_command(out, {"INFO", "replication"});
                     },
                     &node_tracker::on_replication, &node_tracker::on_nothing, now),
                 now);
        }
    }
    shared_->arm(probe_alarm_, now + between_probes);
    report(now);
}

judgement node_tracker::judge(std::size_t node, time_point sent, const wire::node_signs& signs,
                              time_point now) {
    if (signs.is_late) look(node, now);
    // A command that was sent before the record was read names the record before it: that is no
    // news.
    const bool has_forgotten = signs.is_amnesiac && eligibility_.record_of(node).exists &&
                               sent > facts_[node].read_at;
    if (has_forgotten || signs.is_replica) greet_again(node, now);
    return {object(node, sent, now), highest_plausible_fence(now)};
}

void node_tracker::greet_again(std::size_t node, time_point now) {
    if (is_closed_) return;
    // Not from here: the answer that showed it may stand among others that are still to be read.
    to_greet_.insert(node);
    shared_->arm(regreet_alarm_, now);
}

void node_tracker::regreet(time_point now) {
    const wire::failure why{vote::unreachable, errc::in_quarantine,
                            "it is no longer what it was in the handshake; greeting it again"};
    for (const std::size_t node : std::exchange(to_greet_, {})) {
        session_of(node).reconnect(why, now);
    }
}

bool node_tracker::may_settle(time_point now) const noexcept {
    std::size_t voters = 0;
    bool is_hoping = bootstrap_.is_pending() || is_looking();
    for (std::size_t i = 0; i < facts_.size(); ++i) {
        if (session_of(i).is_ready() && eligibility_.votes_from(i) <= now) ++voters;
        is_hoping = is_hoping || facts_[i].clock_write == writing::asked;
    }
    return voters >= redlock::quorum(facts_.size()) || !is_hoping || now >= settle_by_;
}

void node_tracker::settle(time_point now) {
    if (is_settled_ || !may_settle(now)) return;
    is_settled_ = true;
    settle_alarm_.cancel();
    owner_->on_settled(now);
}

// Tells once what keeps a node from voting; while nodes may still be opened that is nothing.
void node_tracker::report(time_point now) {
    if (bootstrap_.is_pending()) return;
    for (std::size_t i = 0; i < facts_.size(); ++i) {
        if (!session_of(i).is_ready()) continue;
        const error_code why = eligibility_.objection(i, now);
        if (why == errc::in_quarantine && !eligibility_.is_compared(i))
            continue;  // over in a moment
        if (std::exchange(facts_[i].reported, why) == why || !why) continue;
        const auto o = object(i, now, now);
        if (!o) continue;
        shared_->emit({.kind = event_kind::node_reported, .severity = severity::warning,
                       .node = shared_->name(i), .error = why,
                       .duration = std::chrono::duration_cast<microseconds>(o->left),
                       .detail = o->why.detail});
    }
}

// Reports each concern once per node, and again when it comes back after a handshake without it.
void node_tracker::report_concerns(std::size_t node, const server_settings& settings) {
    unsigned found = 0;
    for (const auto& c :
         find_concerns(settings, is_guarded(shared_->options()), eligibility_.ttl_max())) {
        const unsigned bit = 1U << static_cast<unsigned>(c.what);
        found |= bit;
        if ((facts_[node].concerns & bit) != 0) continue;
        shared_->emit({.kind = event_kind::node_reported, .severity = c.severity,
                       .node = shared_->name(node), .detail = c.text});
    }
    facts_[node].concerns = found;
}

void node_tracker::found_without_fence(std::size_t node, std::string_view resource,
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
        "another resource is the same key (\"app:\" with \"r\", and \"\" with \"app:r\"), and then "
        "the fences of the two do not rise over each other: give all clients one key_prefix; or it "
        "has fencing off, and its leases have no fence: turn it on everywhere or nowhere";
    shared_->emit({.kind = event_kind::node_reported, .severity = severity::warning,
                   .resource = resource, .node = shared_->name(node), .detail = detail});
}

std::optional<objection> node_tracker::object(std::size_t node, time_point sent,
                                              time_point now) const {
    if (eligibility_.votes_from(node) <= sent) return std::nullopt;
    objection o{{vote::refused, eligibility_.objection(node, now), {}}};
    if (o.why.error == errc::duplicate_node) {
        o.why.detail =
            "it is the same server as " + shared_->name(eligibility_.first_of(node)).str();
    } else if (o.why.error == errc::clock_skew) {
        const duration skew = clocks_.skew(node).value_or(duration::zero());
        o.why.detail = "its clock is " +
                       text::brief(std::chrono::duration_cast<microseconds>(
                           std::chrono::abs(skew))) +
                       (skew < duration::zero() ? " behind" : " ahead of") +
                       " the median of the nodes";
    } else if (o.why.error == errc::other_set) {
        o.why.detail = tell_of_sets(node);
    } else if (!eligibility_.may_be_asked(node)) {
        o.why.detail = "it is a replica";
    } else {
        o.why.answer = vote::quarantine;
        o.why.error = errc::in_quarantine;
        o.left = std::chrono::ceil<milliseconds>(eligibility_.quarantine_left(node, now));
        if (!eligibility_.is_compared(node)) o.why.detail = "its clock was not compared yet";
    }
    return o;
}

std::string node_tracker::tell_of_sets(std::size_t node) const {
    const auto whole = [](std::string_view set) {
        const auto colon = set.find(':');
        return std::string(set.substr(0, colon)) + " nodes (" +
               std::string(set.substr(std::min(colon, set.size() - 1) + 1)) + ")";
    };
    const std::string& theirs = eligibility_.other_set_of(node);
    if (theirs.empty()) {
        return "another node of the list belongs to another set, so nothing is granted";
    }
    return "it belongs to a set of " + whole(theirs) + ", and this client names one of " +
           whole(set_) + ": give all clients the same list, or the same `cluster`, and move the "
           "nodes to it by `redlock init`";
}

node_mask node_tracker::askable() const noexcept {
    node_mask mask;
    for (std::size_t i = 0; i < facts_.size(); ++i) {
        if (eligibility_.may_be_asked(i)) mask.insert(i);
    }
    return mask;
}

wire::fence_terms node_tracker::terms(std::uint64_t fence) const noexcept {
    return {fence, clocks_.tolerance(), 2 * duration(eligibility_.ttl_max()),
            shared_->options().key_prefix, record_key_};
}

std::optional<wire::fence_terms> node_tracker::propose(std::uint64_t seen, time_point now,
                                                       duration lead) {
    // A fence drawn by a time that is far ahead would stay on a node long after its clock was put
    // right.
    if (clocks_.is_in_doubt()) return std::nullopt;
    const auto fence =
        fences_.next(seen, clocks_.now_us(now).value_or(0), clocks_.tolerance(), lead);
    if (!fence) return std::nullopt;
    return terms(*fence);
}

std::uint64_t node_tracker::highest_plausible_fence(time_point now) const noexcept {
    const auto latest = clocks_.now_us(now).value_or(0) +
                        std::chrono::floor<microseconds>(clocks_.tolerance()).count();
    return static_cast<std::uint64_t>(std::max<std::int64_t>(latest, 0));
}

std::optional<wire::fence_terms> node_tracker::to_raise(std::size_t node,
                                                        const footprint& what) const {
    if (!disruptions_.may_arrive_late(node, what)) return std::nullopt;
    return terms(what.highest_fence);
}

}  // namespace redlock::detail

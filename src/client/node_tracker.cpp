// Asks the nodes about themselves, and tells what is known of them.
// SPDX-License-Identifier: MIT
#include "client/node_tracker.hpp"

#include "value/options.hpp"
#include "wire/failure.hpp"
#include "wire/request.hpp"
#include "wire/resp/command.hpp"

#include <cassert>
#include <utility>

namespace redlock::detail {

using core::bootstrap;
using core::node_knowledge;
using core::node_order;

/// What an order asks a node about itself, or about its record. No operation waits for it.
class node_tracker::query final : public call {
public:
    query(node_tracker& home, const node_order& order, wire::record_exchange record)
        : what(order.what), step(order.step), home_(&home), record_(std::move(record)) {}
    query(node_tracker& home, const node_order& order,
          std::initializer_list<std::string_view> words)
        : what(order.what), step(order.step), home_(&home) {
        resp::append_command(words_, words);
    }

    const node_order::task what;
    const bootstrap::task step;

    /// When the last command was sent.
    time_point sent() const noexcept { return sent_; }
    /// What was found; null where no record was read.
    const wire::record_answer* found() const noexcept {
        return record_ ? &record_->answer() : nullptr;
    }
    /// False where the connection does not take it.
    bool send(session& to, time_point now) {
        if (!to.is_ready()) return false;
        wire::request out;
        write(out.words, resp::script_form::by_hash);
        sent_ = now;
        return !to.submit(this, 0, out, now);
    }

private:
    void write(std::string& out, resp::script_form form) const {
        if (record_) record_->write(out, form);
        else out += words_;
    }
    void on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                  time_point now) override {
        if (record_ && record_->read(reply)) {
            if (!send((*home_->nodes_)[node], now)) on_failure(node, round, {}, now);
            return;
        }
        home_->up_to_date();
        home_->answered(*this, node, reply, now);
        home_->carry_out(now);
    }
    void on_failure(std::size_t node, std::uint32_t, const wire::failure&,
                    time_point now) override {
        if (what == node_order::task::read_replication) return;  // no answer is no news
        home_->up_to_date().failed(what, node, now);
        home_->carry_out(now);
    }
    /// It is sent at once or not at all: never after the next handshake, which reads all this
    /// itself.
    bool is_wanted(std::uint32_t) const noexcept override { return true; }
    bool write_again(std::size_t, std::uint32_t, wire::request& out, time_point) const override {
        write(out.words, resp::script_form::whole);
        return true;
    }

    node_tracker* home_;
    std::optional<wire::record_exchange> record_;
    std::string words_;  // of another command
    time_point sent_{};
};

node_tracker::node_tracker(context& shared, node_sessions& nodes, tracker_owner& owner)
    : shared_(&shared),
      nodes_(&nodes),
      owner_(&owner),
      record_key_(wire::record_key(shared.options().key_prefix)),
      set_names_(wire::set_names(shared.options())),
      knowledge_(shared.options(), shared.fresh_owner().to_string(),
                 {wire::node_set(shared.options()), wire::node_set_after(shared.options())}),
      reports_(shared, knowledge_) {}

void node_tracker::start(time_point now) {
    assert(nodes_->size() == shared_->size());
    knowledge_.start(now);
    carry_out(now);
    shared_->arm(probe_alarm_, now + knowledge_.between_probes());
}

void node_tracker::take_role(core::record_role role, time_point now) {
    if (role <= knowledge_.role() || knowledge_.is_closed()) return;
    pass_on(now, &node_knowledge::take_role, role);
}

void node_tracker::close() noexcept {
    knowledge_.close();
    for (alarm* a : {&settle_alarm_, &bootstrap_alarm_, &probe_alarm_, &regreet_alarm_})
        a->cancel();
}

core::record_terms node_tracker::record_terms() const {
    const core::eligibility& votes = knowledge_.votes();
    const core::eligibility::numbers known = votes.of_made();
    const auto& [set, after] = knowledge_.lists().sets();
    return {.set = set,
            .after = after == set ? std::string() : after,
            .names = set_names_,
            .floor = knowledge_.floor_to_write(),
            .epoch = shared_->fresh_owner().to_string(),
            .quarantine = known.quarantine,
            .ttl_max = known.ttl_max,
            .is_list_changing = knowledge_.lists().is_strict(),
            .only_peeks = !is_guarded(shared_->options()),
            .only_judges = knowledge_.role() != core::record_role::keeps};
}

// A node that is still to be read may show that the list changes.
core::record_terms node_tracker::greeting_terms(std::size_t node) const {
    core::record_terms terms = record_terms();
    const bool keeps = knowledge_.role() == core::record_role::keeps;
    if (keeps && knowledge_.is_reading_others(node)) terms.is_list_changing = true;
    return terms;
}

// Long after the handshake, with a node whose record was read.
core::record_terms node_tracker::terms_for(std::size_t node) const {
    core::record_terms terms = greeting_terms(node);
    const core::record_facts& known = knowledge_.votes().record_of(node);
    terms.server = knowledge_.votes().server_of(node);
    terms.is_much_later = !known.is_of_earlier_process && !known.is_void;
    terms.forgets_announced_before_us = knowledge_.forgets_announced_before_us();
    return terms;
}

// By what was read last, so that it takes one command where that still stands.
wire::record_exchange node_tracker::on_known(std::size_t node, core::record_rule rule) const {
    return {record_key_, terms_for(node), std::move(rule), &knowledge_.record_on(node)};
}

wire::record_exchange node_tracker::declaration(std::size_t node, time_point began,
                                                bool lowers_fences) const {
    core::record_terms terms = record_terms();
    terms.server = knowledge_.votes().server_of(node);
    const bool is_known = !terms.server.run_id.empty();
    terms.quarantine = terms.ttl_max = shared_->options().ttl_max;
    terms.number = knowledge_.lists().number_to_declare();
    return {record_key_, std::move(terms),
            [lowers_fences, clock = knowledge_.clocks().check(node, began, true)](
                const core::record_facts& found, const core::record_terms& t) {
                return core::declared(found, t, clock, lowers_fences);
            },
            // A node that has not said which process it is has to be read first.
            is_known ? &knowledge_.record_on(node) : nullptr};
}

wire::record_exchange node_tracker::list_step(std::size_t node,
                                              const core::list_step& step) const {
    return on_known(node, [step](const core::record_facts& found, const core::record_terms& t) {
        return core::stepped(found, t, step);
    });
}

std::vector<list_standing> node_tracker::list_standings(time_point now) const {
    using standing = core::membership::standing;
    const core::membership& lists = knowledge_.lists();
    std::vector<list_standing> out(shared_->size());
    for (std::size_t i = 0; i < out.size(); ++i) {
        const auto& facts = lists.facts(i);
        list_standing& s = out[i];
        switch (lists.of(i)) {
            case standing::unknown: break;
            case standing::empty: s.state = list_state::empty; break;
            case standing::closed: s.state = list_state::closed; break;
            case standing::behind: s.state = list_state::behind; break;
            case standing::foreign:
            case standing::misfit: s.state = list_state::other; break;
            case standing::fits:
                s.state = lists.is_after(i) ? list_state::changed : list_state::member;
                using change = core::list_facts::change;
                if (facts->is == change::closed && !facts->is_closed_for_itself()) {
                    s.state = list_state::closed;
                }
                if (facts->is == change::joining) s.state = list_state::joining;
        }
        if (!facts) continue;
        s.number = facts->number;
        s.is_announced = !facts->announced.empty();
        s.settles_in = std::chrono::ceil<std::chrono::milliseconds>(
            knowledge_.votes().member_wait_left(i, now));
    }
    return out;
}

// Passes on the state of all connections first: each fact is judged by it.
node_knowledge& node_tracker::up_to_date() {
    for (const auto& s : *nodes_) {
        knowledge_.set_link(s->index(), {s->is_ready(), s->is_untried(), s->node_timeout()});
    }
    return knowledge_;
}

void node_tracker::on_greeted(std::size_t node, const greeting& facts, time_point began,
                              time_point now) {
    reports_.report_greeting(node, facts, (*nodes_)[node].lateness());
    up_to_date().greeted(node, {facts.server, facts.time_us, facts.record, began}, now);
    carry_out(now);
}

void node_tracker::note(std::size_t node, time_point sent, const core::node_signs& signs,
                        time_point now) {
    if (signs.any()) pass_on(now, &node_knowledge::showed, node, signs, sent);
}

judgement node_tracker::judge(std::size_t node, time_point sent, const core::node_signs& signs,
                              time_point now) {
    note(node, sent, signs, now);
    return {object(node, sent, now), knowledge_.highest_plausible_fence(now)};
}

void node_tracker::probe(time_point now) {
    shared_->arm(probe_alarm_, now + knowledge_.between_probes());
    pass_on(now, &node_knowledge::probe);
}

// What was ordered is followed by more where a node's connection did not take it.
void node_tracker::carry_out(time_point now) {
    for (;;) {
        if (!knowledge_.is_closed()) {
            shared_->arm(settle_alarm_, knowledge_.settle_deadline());
            shared_->arm(bootstrap_alarm_, knowledge_.bootstrap_deadline());
        }
        const core::node_orders orders = knowledge_.take_orders();
        if (orders.empty()) break;
        for (const node_order& o : orders) carry_out(o, now);
    }
    for (const auto& s : *nodes_) s->show_standing(knowledge_.votes().votes_from(s->index()));
}

void node_tracker::carry_out(const node_order& order, time_point now) {
    using task = node_order::task;
    const std::size_t node = order.node;
    assert(node < shared_->size());
    switch (order.what) {
        case task::bootstrap: return send_bootstrap(order, now);
        case task::look: return send_look(order, now);
        case task::write_clock: return send_clock(order, now);
        case task::write_floor: return send_floor(order, now);
        case task::turn: return send_turn(order, now);
        case task::read_replication: return send<words>(order, {"INFO", "replication"}, now);
        case task::greet_again: return greet_again(node, now);
        case task::use_record:
            return (*nodes_)[node].set_record(knowledge_.votes().record_of(node));
        case task::use_clock:
            return (*nodes_)[node].set_clock(*knowledge_.clocks().ahead_us(node));
        case task::clock_gap: return owner_->on_clock_gap(order.gap, now);
        case task::settled:
            // An order before it may have failed, and unsettled what is known.
            if (knowledge_.is_settled()) owner_->on_settled(now);
            return;
        case task::report_objection: return reports_.report_objection(node, now);
        case task::report_ttl_max: return reports_.report_ttl_max(node);
        case task::report_lift: return reports_.report_lift(order.gap);
    }
}

template <class What>
void node_tracker::send(const node_order& order, What what, time_point now) {
    const boost::intrusive_ptr<query> to_send(new query(*this, order, std::move(what)));
    if (to_send->send((*nodes_)[order.node], now)) return;
    knowledge_.failed(order.what, order.node, now, false);
}

void node_tracker::send_bootstrap(const node_order& order, time_point now) {
    using task = bootstrap::task;
    core::record_terms terms = record_terms();
    terms.server = knowledge_.votes().server_of(order.node);
    terms.makes = order.step == task::make || order.step == task::settle;
    if (order.step != task::settle) terms.mark = knowledge_.mark();
    terms.made = knowledge_.lists().made(order.node);
    if (terms.made && !terms.made->is_changed()) terms.made.reset();
    const core::record_rule rule = order.step == task::open       ? core::opened
                                   : order.step == task::withdraw ? core::withdrawn
                                                                  : core::greeted;
    const core::record_facts* const known =
        order.step == task::look ? nullptr : &knowledge_.record_on(order.node);
    send<wire::record_exchange>(order, {record_key_, std::move(terms), rule, known}, now);
}

// Reads the clock and, where there is one, the record, both in one command. Without fences the set
// is looked at again where it did not fit.
void node_tracker::send_look(const node_order& order, time_point now) {
    const core::eligibility& votes = knowledge_.votes();
    const bool asks_record = shared_->is_fenced() || !votes.may_be_queried(order.node);
    if (!asks_record || !votes.server_of(order.node).is_master) {
        return send<words>(order, {"TIME"}, now);
    }
    send<wire::record_exchange>(order, {record_key_, terms_for(order.node), core::greeted}, now);
}

void node_tracker::send_clock(const node_order& order, time_point now) {
    if (order.changes.what == core::amendment::kind::strike) {
        reports_.report_strike(order.node, order.found);
    }
    // `known` is the record that the clock was compared with.
    const auto rule = [order, known = knowledge_.votes().record_of(order.node)](
                          const core::record_facts& found, const core::record_terms& t) {
        return core::amended(found, t, known, order.found, order.changes);
    };
    send(order, on_known(order.node, rule), now);
}

void node_tracker::send_floor(const node_order& order, time_point now) {
    const auto rule = [to = order.floor, known = knowledge_.record_on(order.node).floor](
                          const core::record_facts& found, const core::record_terms& t) {
        return core::floored(found, t, known, to);
    };
    send(order, on_known(order.node, rule), now);
}

void node_tracker::send_turn(const node_order& order, time_point now) {
    using memory = core::list_step::memory;
    assert(order.turned);
    const core::membership::turn& turn = *order.turned;
    const core::list_step step{.what = core::list_step::kind::become,
                               .from = turn.from,
                               .epoch = turn.epoch,
                               .to = turn.to,
                               .quarantine = knowledge_.votes().quarantine(),
                               .ttl_max = knowledge_.votes().ttl_max(),
                               .leases = turn.forgets ? memory::lost : memory::kept};
    send(order, list_step(order.node, step), now);
}

void node_tracker::answered(const query& to, std::size_t node, const resp::reply& reply,
                            time_point now) {
    using task = node_order::task;
    if (to.what == task::read_replication) return on_replication(node, reply);
    if (to.what == task::look) {
        node_knowledge::sight seen;
        if (to.found() != nullptr) seen.record = to.found()->record;
        else seen.time_us = wire::read_time(reply);
        return knowledge_.looked(node, seen, to.sent(), now);
    }
    const auto& record = to.found()->record;
    if (!record) return knowledge_.failed(to.what, node, now);
    switch (to.what) {
        case task::bootstrap: return on_bootstrap(to, node, *record, now);
        case task::write_clock: return knowledge_.clock_written(node, *record, to.sent(), now);
        case task::write_floor: return knowledge_.floor_written(node, *record, to.sent(), now);
        default: return knowledge_.turned(node, *record, to.sent(), now);
    }
}

void node_tracker::on_bootstrap(const query& to, std::size_t node,
                                const core::record_facts& record, time_point now) {
    if (to.step != bootstrap::task::open && to.step != bootstrap::task::withdraw) {
        return knowledge_.bootstrap_found(node, record, to.sent(), now);
    }
    knowledge_.bootstrap_done(node, to.step, record.made ? &record : nullptr, to.sent(), now);
}

void node_tracker::on_replication(std::size_t node, const resp::reply& reply) {
    if (reply.type() != resp::reply_type::string) return;
    core::server_facts facts;
    read_replication(reply.text(), facts);
    knowledge_.read_replication(node, facts);
}

void node_tracker::greet_again(std::size_t node, time_point now) {
    assert(node < shared_->size());
    if (knowledge_.is_closed()) return;
    // Not from here: the answer that showed it may stand among others that are still to be read.
    to_greet_.insert(node);
    shared_->arm(regreet_alarm_, now);
}

void node_tracker::regreet(time_point now) {
    const wire::failure why{vote::unreachable, errc::in_quarantine,
                            "it is no longer what it was in the handshake; greeting it again"};
    for (const std::size_t node : std::exchange(to_greet_, {})) {
        (*nodes_)[node].reconnect(why, now);
    }
}

std::optional<objection> node_tracker::object(std::size_t node, time_point sent,
                                              time_point now) const {
    if (knowledge_.votes().votes_from(node) <= sent) return std::nullopt;
    return reports_.object(node, now);
}

std::optional<objection> node_tracker::own_objection(std::size_t node, time_point now) const {
    const error_code why = knowledge_.votes().own_objection(node, now);
    if (!why) return std::nullopt;
    return reports_.explain(node, why, now);
}

node_mask node_tracker::askable() const noexcept {
    return node_mask::where(shared_->size(), [this](std::size_t i) {
        return knowledge_.votes().may_be_queried(i);
    });
}

std::optional<wire::fence_terms> node_tracker::propose(std::uint64_t seen, time_point now,
                                                       std::uint64_t raised) {
    const auto fence = knowledge_.propose(seen, now, raised);
    if (knowledge_.has_orders()) carry_out(now);  // before what carries the fence
    if (!fence) return std::nullopt;
    return wire::fence_terms{*fence, shared_->options().key_prefix};
}

}  // namespace redlock::detail

// What one client knows of its nodes, and what it asks them for that reason.
// SPDX-License-Identifier: MIT
#include "core/node_knowledge.hpp"

#include "value/options.hpp"

namespace redlock::core {

using namespace std::chrono_literals;

node_knowledge::node_knowledge(const client_options& options, std::string mark, own_sets sets)
    : lists_(options),
      is_fenced_(options.fencing),
      is_guarded_(is_guarded(options)),
      ttl_max_(options.ttl_max),
      membership_(lists_, std::move(sets)),
      eligibility_(lists_, is_guarded_, options.ttl_max, drift_of(options)),
      bootstrap_(options.nodes.size(),
                 is_guarded_ && options.guard == restart_guard::automatic && !lists_.is_joint(),
                 options.ttl_max / 2, std::move(mark)),
      watch_(lists_, is_guarded_, fence_tolerance(options.ttl_max), drift_of(options)),
      disruptions_(options.nodes.size()),
      settling_(!options.fencing, options.connect_timeout),
      nodes_(options.nodes.size()) {}

void node_knowledge::start(time_point now) {
    has_begun_ = true;
    settling_.start(now);
}

void node_knowledge::take_role(record_role role, time_point now) {
    if (role <= role_) return;
    role_ = role;
    watch_.set_role(role);
    if (role == record_role::keeps) bootstrap_.keep_records();
    const bool awaits_raise = eligibility_.longest_lease() < ttl_max_;
    if (is_guarded_) awaits_raise ? settling_.take_up(now) : settling_.unsettle(now);
    // First: what is known of the others is compared when these have been reset.
    for (std::size_t i = 0; i < nodes_.size() && role == record_role::keeps; ++i) {
        // A joint list is announced to each node.
        const bool is_to_write = eligibility_.record_of(i).is_void || membership_.is_joint();
        if (is_to_write) watch_.look(i, orders_);
    }
    decide(now);
}

void node_knowledge::order(task what, std::size_t node) {
    orders_.push_back({.what = what, .node = node});
}

void node_knowledge::greeted(std::size_t node, const handshake& facts, time_point now) {
    assert(node < nodes_.size());
    watch_.greeted(node);
    floors_refused_.erase(node);
    eligibility_.met(node, facts.server, now);
    if (facts.time_us) read_clock(node, {*facts.time_us, facts.began, now}, now);
    if (!is_fenced_) return;
    // A replica reports no record, and has no vote.
    if (!facts.server.is_master) return bootstrap_.down(node);
    if (is_guarded_) settling_.unsettle(now);
    take_record(node, facts.record, facts.began, now);
    note_in_bootstrap(node, facts.began, now);
}

// What a node is depends on the others' records, too.
void node_knowledge::take_record(std::size_t node, const record_facts& record, time_point sent,
                                 time_point now) {
    std::vector<membership::standing> before;
    for (std::size_t i = 0; i < nodes_.size(); ++i) before.push_back(membership_.of(i));
    membership_.read(node, record.exists ? std::optional(record.list) : std::nullopt, record.epoch,
                     sent, now, record.may_lack_steps);
    const record_facts& known = nodes_[node].record;
    const bool is_a_step = known.exists && known.epoch != record.epoch && membership_.is_strict();
    if (is_a_step) ++list_steps_;
    nodes_[node].record = record;
    nodes_[node].read_at = now;
    use_record(node, now);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (i == node || membership_.of(i) == before[i]) continue;
        use_record(i, now);
        note_in_bootstrap(i, sent, now);
    }
}

void node_knowledge::use_record(std::size_t node, time_point now) {
    record_facts record = nodes_[node].record;
    nodes_[node].record.made = false;
    record.standing = membership_.of(node);
    take_floor(node);
    record.waits_for_earlier = membership_.waits_for_earlier(node);
    // Of a node that is not of the list nothing else counts; without the guard only a change does.
    if (record.is_misfit() || record.is_away() || !is_guarded_) {
        record = {.time_us = record.time_us,
                  .quarantine = record.quarantine,
                  .offset = is_guarded_ ? std::nullopt : record.offset,
                  .list = record.list,
                  .standing = record.standing,
                  .waits_for_earlier = !is_guarded_ && record.waits_for_earlier};
    }
    if (!is_guarded_) return eligibility_.read(node, record, now);
    if (eligibility_.record_of(node).epoch != record.epoch) disruptions_.forgot(node);
    report_ttl_max(node, record);
    eligibility_.read(node, record, now);
    watch_.take_record(node, eligibility_, now);
    order(task::use_record, node);
}

void node_knowledge::note_in_bootstrap(std::size_t node, time_point sent, time_point now) {
    if (!is_guarded_) return;  // it makes no record: one would be ordered again at each answer
    const record_facts& record = eligibility_.record_of(node);
    const bool is_left_out = ends_change_ && membership_.leaving_strangers().contains(node);
    if (record.is_misfit() && !is_left_out) bootstrap_.note_other_set(node);
    else if (record.is_misfit() || record.is_away()) bootstrap_.note_record(node);
    else if (eligibility_.first_of(node) != node) bootstrap_.excuse(node);
    else bootstrap_.found(node, record, now, sent);
}

void node_knowledge::end_change(node_mask gone, time_point now) {
    membership_.presume_gone(gone);
    ends_change_ = true;
    for (const std::size_t i : membership_.leaving_strangers()) note_in_bootstrap(i, now, now);
    decide(now);
}

// Each figure is reported once, for all nodes together.
void node_knowledge::report_ttl_max(std::size_t node, const record_facts& record) {
    const bool is_ours_or_none = record.ttl_max == ttl_max_ || record.ttl_max == 0ms;
    if (!record.exists || is_ours_or_none) return;
    const bool is_known = std::ranges::any_of(nodes_, [&](const node_state& n) {
        return n.other_ttl_max == record.ttl_max;
    });
    nodes_[node].other_ttl_max = record.ttl_max;
    if (!is_known) order(task::report_ttl_max, node);
}

void node_knowledge::read_clock(std::size_t node, const clock_reading& reading, time_point now) {
    const bool has_jumped = watch_.read(node, reading, eligibility_, now, orders_);
    if (has_jumped) settling_.unsettle(now);
}

void node_knowledge::down(std::size_t node, time_point now) {
    if (turning_ == node) turning_.reset();
    disruptions_.broke(node);
    membership_.lost(node);
    bootstrap_.down(node);
    decide(now);
}

void node_knowledge::decide(time_point now) {
    if (is_closed_) return;
    order_turns();
    order_bootstrap(now);
    eligibility_.presume_new(role_ != record_role::keeps && bootstrap_.is_new_cluster());
    compare_clocks(now);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        bool is_open = watch_.is_unmade(i, eligibility_);
        is_open = is_open && membership_.makeable().contains(i);  // it waits for no other node
        eligibility_.presume_open(i, is_open);
    }
    judge_floor(now);
    settle(now);
    report(now);
}

// Nodes that missed a change are turned into what the others are, by clients that keep records: one
// after the other, since what is sent to a node meanwhile names its record from before.
void node_knowledge::order_turns() {
    if (!is_guarded_ || role_ != record_role::keeps) return;
    for (std::size_t i = 0; i < nodes_.size() && !turning_; ++i) {
        if (!watch_.link(i).is_ready || unturned_.contains(i)) continue;
        auto turn = membership_.turn_of(i);
        if (!turn) continue;
        turning_ = i;
        eligibility_.doubt(i);
        orders_.push_back({.what = task::turn, .node = i, .turned = std::move(turn)});
    }
    for (const std::size_t i : membership_.to_read() - read_again_) {
        if (!watch_.link(i).is_ready) continue;
        read_again_.insert(i);
        watch_.look(i, orders_);
    }
}

void node_knowledge::turned(std::size_t node, const record_facts& record, time_point sent,
                            time_point now) {
    if (turning_ == node) turning_.reset();
    const bool is_known_empty = membership_.of(node) == membership::standing::empty;
    if (record.exists || is_known_empty) {
        const auto standing = membership_.of(node);
        take_record(node, record, sent, now);
        if (membership_.of(node) != standing) note_in_bootstrap(node, sent, now);
    } else {
        order(task::greet_again, node);
    }
    decide(now);
}

void node_knowledge::order_bootstrap(time_point now) {
    bootstrap_.set_makeable(membership_.makeable());
    for (const bootstrap::order& o : bootstrap_.due(now)) {
        orders_.push_back({.what = task::bootstrap, .node = o.node, .step = o.what});
        // Not for a look at the record of another client's bootstrap: it is repeated until that
        // ends.
        const bool is_a_look =
            o.what == bootstrap::task::look ||
            (o.what == bootstrap::task::make && eligibility_.record_of(o.node).exists);
        if (!is_a_look) settling_.extend(now, watch_.link(o.node).node_timeout);
    }
    bootstrap_deadline_ = bootstrap_.deadline();
}

void node_knowledge::compare_clocks(time_point now) {
    const std::size_t before = orders_.size();
    watch_.set_making(bootstrap_.is_pending());
    if (watch_.compare(eligibility_, now, orders_)) settling_.unsettle(now);
    for (std::size_t i = before; i < orders_.size(); ++i) {
        const node_order& o = orders_[i];
        if (o.what == task::write_clock) settling_.extend(now, watch_.link(o.node).node_timeout);
    }
    if (!is_guarded_ || !watch_.is_looking()) return;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (watch_.link(i).is_ready) settling_.await_comparison(watch_.link(i).node_timeout);
    }
}

// The record of another set says nothing of this one's fences.
void node_knowledge::take_floor(std::size_t node) {
    using enum membership::standing;
    const auto standing = membership_.of(node);
    if (standing == misfit || standing == foreign) return;
    const std::int64_t before_us = floor_.highest_us;
    floor_ = joined(floor_, nodes_[node].record.floor);
    const auto fell_by = span_of(before_us - floor_.highest_us);
    if (fell_by > longest_unwritten_highest) fences_ = {};  // an operator lowered it
}

// A client that only looks judges as if the lift were written.
void node_knowledge::judge_floor(time_point now) {
    if (!is_fenced_) return;
    reckoned_ = floor_;
    if (const auto time_us = clocks().now_us(now); time_us && clocks().is_agreed()) {
        reckoned_ = lifted_for(floor_, *time_us, clocks().tolerance());
        reckoned_.highest_us = std::max(reckoned_.highest_us, *time_us + reckoned_.lift_us);
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const record_facts& record = nodes_[i].record;
        const bool counts = role_ != record_role::looks && (record.exists || !is_guarded_);
        const bool is_unlifted = counts && !record.floor.has_lift_of(reckoned_);
        if (is_unlifted != eligibility_.is_unlifted(i)) {
            eligibility_.set_unlifted(i, is_unlifted, now);
            if (is_unlifted) settling_.unsettle(now);
        }
        // The last clock that is read may still show that they did not go back.
        if (is_unlifted && !watch_.is_looking() && may_write_floor(i)) write_floor(i, now);
    }
}

bool node_knowledge::may_write_floor(std::size_t node) const noexcept {
    const record_facts& record = eligibility_.record_of(node);
    return is_guarded_ && role_ != record_role::looks && record.exists && !record.is_void &&
           watch_.link(node).is_ready && eligibility_.first_of(node) == node &&
           !(floors_ordered_ | floors_refused_).contains(node);
}

void node_knowledge::write_floor(std::size_t node, time_point now) {
    floors_ordered_.insert(node);
    orders_.push_back({.what = task::write_floor, .node = node, .floor = reckoned_});
    settling_.extend(now, watch_.link(node).node_timeout);
    const bool is_news = reckoned_.lift_us > floor_.lift_us && reckoned_.lifts > reported_lifts_;
    if (!is_news) return;
    reported_lifts_ = reckoned_.lifts;
    orders_.push_back({.what = task::report_lift,
                       .gap = least_step_of(reckoned_, clocks().tolerance())});
}

void node_knowledge::floor_written(std::size_t node, const record_facts& record, time_point sent,
                                   time_point now) {
    floors_ordered_.erase(node);
    if (!record.exists && !may_be_withdrawn()) return order(task::greet_again, node);
    take_record(node, record, sent, now);
    read_clock(node, {record.time_us, sent, now}, now);
    decide(now);
}

bool node_knowledge::has_quorum(time_point now) const noexcept {
    return lists_.is_quorum(node_mask::where(nodes_.size(), [&](std::size_t i) {
        return watch_.link(i).is_ready && eligibility_.votes_from(i) <= now;
    }));
}

// With the nodes that are being greeted, of which there is one at least.
bool node_knowledge::may_reach_quorum() const noexcept {
    node_mask ready;
    node_mask greeting;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        ready.set(i, watch_.link(i).is_ready);
        greeting.set(i, watch_.link(i).is_untried);
    }
    return !greeting.empty() && lists_.is_quorum(ready | greeting);
}

// The records allow shorter leases than this client has for its callers, and all nodes are there to
// have that raised. One that is still to be greeted is given as long again as the quorum took.
bool node_knowledge::waits_for_raise(time_point now) noexcept {
    const bool is_wanted = is_guarded_ && role_ == record_role::keeps &&
                           eligibility_.longest_lease() < ttl_max_;
    bool are_all_ready = true;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const link_facts& link = watch_.link(i);
        if (!is_wanted || !(link.is_ready || link.is_untried)) return false;
        are_all_ready = are_all_ready && link.is_ready;
    }
    if (!are_all_ready) settling_.note_quorum(now);
    return true;
}

void node_knowledge::settle(time_point now) {
    // Before that no connection is being made, and nothing looks worth waiting for.
    if (settling_.is_settled() || !has_begun_) return;
    bool is_worth_waiting =
        bootstrap_.is_pending() || watch_.is_looking() || watch_.is_writing() ||
        !floors_ordered_.empty();
    if (is_worth_waiting && has_quorum(now)) {
        is_worth_waiting = bootstrap_.is_asking();
        if (waits_for_raise(now)) is_worth_waiting = true;
        else settling_.note_quorum(now);
    } else if (is_worth_waiting && may_reach_quorum()) {
        settling_.await_greeting(now);
    }
    if (settling_.settle(is_worth_waiting, now)) order(task::settled, 0);
}

// Reports once what keeps a node from voting; while nodes may still be opened that is nothing.
void node_knowledge::report(time_point now) {
    if (bootstrap_.is_pending()) return;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (!watch_.link(i).is_ready) continue;
        const error_code why = eligibility_.objection(i, now);
        const bool is_turned_soon = membership_.of(i) == membership::standing::behind &&
                                    role_ == record_role::keeps && !unturned_.contains(i);
        const bool is_compared_soon =
            why == errc::in_quarantine && !eligibility_.is_compared(i);
        const bool is_lifted_soon = eligibility_.is_unlifted(i) && is_guarded_ &&
                                    !floors_refused_.contains(i);
        if (is_turned_soon || is_compared_soon || is_lifted_soon) continue;  // over in a moment
        if (std::exchange(nodes_[i].reported, why) != why && why) order(task::report_objection, i);
    }
}

void node_knowledge::probe(time_point now) {
    was_probe_put_off_ = is_guarded_ && !was_probe_put_off_ && watch_.is_looking();
    if (was_probe_put_off_) return;
    // Not more often where a short quarantine has the clocks read more often.
    const bool reads_roles = now >= roles_due_;
    read_again_ = {};
    unturned_ = {};
    floors_refused_ = {};
    if (reads_roles) roles_due_ = now + longest_between_probes;
    look_for_abandoned_change(now);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (!watch_.link(i).is_ready) continue;
        // Only a handshake shows that a replica has become a master.
        if (reads_roles && !eligibility_.server_of(i).is_master) order(task::greet_again, i);
        watch_.probe(i, orders_);
        if (reads_roles && is_guarded_) order(task::read_replication, i);
    }
    report(now);
}

void node_knowledge::look_for_abandoned_change(time_point now) {
    const auto time_us = clocks().cluster_us(now);
    bool is_plain = role_ == record_role::keeps && is_guarded_ && !lists_.is_joint() && time_us;
    for (std::size_t i = 0; i < nodes_.size() && is_plain; ++i) {
        const auto& facts = membership_.facts(i);
        is_plain = watch_.link(i).is_ready && membership_.of(i) == membership::standing::fits &&
                   facts && facts->is == list_facts::change::none &&
                   now - nodes_[i].read_at <= 2 * between_probes();
    }
    if (!is_plain) undisturbed_since_ = time_point::max();
    else if (undisturbed_since_ == time_point::max()) undisturbed_since_ = now;
    const duration whole = votes().whole_quarantine();
    forgets_before_us_.reset();
    if (!is_plain || now - undisturbed_since_ < whole) return;
    forgets_before_us_ =
        *time_us - std::chrono::ceil<std::chrono::microseconds>(whole).count();
}

void node_knowledge::bootstrap_found(std::size_t node, const record_facts& record,
                                     time_point sent, time_point now) {
    take_record(node, record, sent, now);
    note_in_bootstrap(node, sent, now);
    decide(now);
}

void node_knowledge::bootstrap_done(std::size_t node, bootstrap::task step,
                                    const record_facts* written, time_point sent, time_point now) {
    assert(step == bootstrap::task::open || step == bootstrap::task::withdraw);
    if (written != nullptr && step == bootstrap::task::open) take_record(node, *written, sent, now);
    bootstrap_.done(node, now);
    decide(now);
}

void node_knowledge::looked(std::size_t node, const sight& seen, time_point sent,
                            time_point now) {
    watch_.looked(node);
    if (seen.time_us) {
        read_clock(node, {*seen.time_us, sent, now}, now);
    } else if (seen.record) {
        read_again_.erase(node);  // another one may have been found without its record since
        const record_facts& record = *seen.record;
        read_clock(node, {record.time_us, sent, now}, now);
        // The quarantine of a node that was flushed begins with the first handshake after it.
        // Beside a node of another set an empty one stays empty.
        const record_facts& before = nodes_[node].record;
        // That it is gone may have been noted while another node's was made, and no word of it was
        // due then.
        const bool is_missing = !record.exists && bootstrap_.expects_record(node);
        const bool is_known = !is_missing && record.exists == before.exists &&
                              record.epoch == before.epoch && record.list.set == before.list.set;
        // What a client that only looked could not note of the node, it notes now.
        const bool is_reset = before.is_void && record.exists;
        if (is_known || is_reset || was_changed(node, record)) {
            const auto standing = membership_.of(node);
            take_record(node, record, sent, now);
            if (membership_.of(node) != standing) note_in_bootstrap(node, sent, now);
        }
        else if (!may_be_withdrawn()) order(task::greet_again, node);
    } else {
        watch_.look_failed(node);
    }
    decide(now);
}

// Whether the record is the one that was known, after a step of a change of the list: the data are
// as they were.
bool node_knowledge::was_changed(std::size_t node, const record_facts& record) const {
    const record_facts& before = nodes_[node].record;
    const bool is_a_step =
        record.list.set == before.list.set || record.list.number != before.list.number;
    const bool is_any = record.list.is_changed() || before.list.is_changed();
    return before.exists && record.exists && !(record.list == before.list) && is_a_step && is_any &&
           record.since_us == before.since_us;
}

void node_knowledge::clock_written(std::size_t node, const record_facts& record,
                                   time_point sent, time_point now) {
    watch_.clock_written(node, record.made);
    if (!record.exists && !may_be_withdrawn()) return order(task::greet_again, node);
    const bool is_struck = record.epoch != eligibility_.record_of(node).epoch;
    take_record(node, record, sent, now);
    // The clock may have stepped since it was compared, and then what was written is wrong. After a
    // strike that can wait for the next look: a clock that drifts without measure would be struck
    // again at once.
    if (!is_struck) read_clock(node, {record.time_us, sent, now}, now);
    decide(now);
}

void node_knowledge::read_replication(std::size_t node, const server_facts& facts) {
    const server_facts& known = eligibility_.server_of(node);
    const bool is_other = facts.is_master != known.is_master || facts.replid != known.replid ||
                          facts.has_replicas != known.has_replicas;
    if (is_other) order(task::greet_again, node);
}

void node_knowledge::showed(std::size_t node, const node_signs& signs, time_point sent,
                            time_point now) {
    if (signs.is_late) watch_.look(node, orders_);
    // A command that was sent before the record was read names the record before it: that is no
    // news. An acquire that waited for the record goes out at the instant at which it is read.
    const bool is_news = membership_.is_strict() ? sent >= nodes_[node].read_at
                                                 : sent > nodes_[node].read_at;
    const bool has_forgotten = signs.is_amnesiac && eligibility_.record_of(node).exists &&
                               is_news && !may_be_withdrawn();
    // While the list changes it may be a step of that, which costs no connection.
    if (has_forgotten && membership_.is_strict() && !signs.is_replica) {
        ++list_steps_;
        eligibility_.doubt(node);  // until the look
        settling_.unsettle(now);
        return watch_.look(node, orders_);
    }
    if (has_forgotten || signs.is_replica) order(task::greet_again, node);
}

void node_knowledge::failed(task what, std::size_t node, time_point now, bool was_sent) {
    switch (what) {
        case task::bootstrap:
            bootstrap_.down(node);
            if (was_sent) order(task::greet_again, node);  // the next handshake tells
            break;
        case task::look: watch_.look_failed(node); break;
        case task::write_clock: watch_.write_failed(node); break;
        case task::write_floor:
            floors_ordered_.erase(node);
            floors_refused_.insert(node);
            break;
        case task::turn:
            if (turning_ == node) turning_.reset();
            unturned_.insert(node);
            break;
        default: return;
    }
    decide(now);
}

std::optional<std::uint64_t> node_knowledge::propose(std::uint64_t seen, time_point now,
                                                     std::uint64_t raised) {
    // A fence drawn by a time that is far ahead would stay on a node long after its clock was put
    // right.
    if (clocks().is_in_doubt()) return std::nullopt;
    const std::int64_t time_us = fence_time_us(now).value_or(0);
    if (reckoned_.has_lift_of(floor_) && clocks().follows_quorum()) {
        reckoned_.highest_us = std::max(reckoned_.highest_us, time_us);
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            const fence_floor& known = nodes_[i].record.floor;
            const auto age = span_of(reckoned_.highest_us - known.highest_us);
            const bool is_due = known.has_lift_of(reckoned_) && age >= longest_unwritten_highest;
            if (is_due && may_write_floor(i)) write_floor(i, now);
        }
    }
    const auto so_far = fences_until_us(floor_, time_us, clocks().tolerance());
    return fences_.next(std::max(seen, static_cast<std::uint64_t>(so_far)), time_us,
                        clocks().tolerance(), raised);
}

std::optional<std::int64_t> node_knowledge::fence_time_us(time_point now) const noexcept {
    const auto time_us = clocks().now_us(now);
    if (!time_us) return std::nullopt;
    return *time_us + reckoned_.lift_us;
}

std::uint64_t node_knowledge::highest_plausible_fence(time_point now) const noexcept {
    const auto latest = fence_time_us(now).value_or(0) +
                        std::chrono::floor<std::chrono::microseconds>(clocks().tolerance()).count();
    return static_cast<std::uint64_t>(std::max<std::int64_t>(latest, 0));
}

}  // namespace redlock::core

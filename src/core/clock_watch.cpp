// When each node's clock is read, compared with its record and corrected there.
// SPDX-License-Identifier: MIT
#include "core/clock_watch.hpp"

#include "core/lease.hpp"

#include <algorithm>
#include <cassert>

namespace redlock::core {

namespace {

using namespace std::chrono_literals;

constexpr duration shortest_between_probes = 100ms;
// How long a holder, or a client's command, may go without having written `seen`.
constexpr duration longest_unseen_holder = 30s;

// The offset on a record is written again when it is so old: at every probe, by one of the clients.
duration refreshed_after(const eligibility& votes) noexcept {
    return clock_watch::between_probes(votes) * 4 / 5;
}

}  // namespace

clock_watch::clock_watch(const node_lists& nodes, bool is_guarded, duration tolerance,
                         drift_policy drift)
    : is_guarded_(is_guarded), clocks_(nodes, tolerance, drift), nodes_(nodes.size()) {}

duration clock_watch::between_probes(const eligibility& votes) noexcept {
    return std::clamp<duration>(votes.least_quarantine() / 4, shortest_between_probes,
                                longest_between_probes);
}

void clock_watch::greeted(std::size_t node) noexcept {
    assert(node < nodes_.size());
    nodes_[node].look = looking::idle;
    nodes_[node].write = writing::idle;
    nodes_[node].unused_since.reset();
}

bool clock_watch::read(std::size_t node, const clock_reading& reading, eligibility& votes,
                       time_point now, node_orders& out) {
    const duration jump = clocks_.read(node, reading);
    out.push_back({.what = node_order::task::use_clock, .node = node});
    judge_skew(votes, now);
    if (jump == duration::zero() || !is_guarded_) return false;
    votes.doubt(node);
    // Its clock or ours: fresh readings of all nodes decide which.
    if (clocks_.is_fresh(node) && restarts_ < most_restarts) start_over(now);
    return true;
}

void clock_watch::take_record(std::size_t node, eligibility& votes, time_point now) {
    const record_facts& record = votes.record_of(node);
    clocks_.set_recorded(node, record.offset);
    // Where this client made the record nobody can have relied on it before.
    auto& unused_since = nodes_[node].unused_since;
    if (unused_since && unused_since->empty() && record.exists) {
        unused_since = record.made ? std::optional(record.epoch) : std::nullopt;
    }
    clocks_.set_tolerance(fence_tolerance(votes.ttl_max()));
    judge_skew(votes, now);
}

void clock_watch::judge_skew(eligibility& votes, time_point now) const {
    for (std::size_t i = 0; i < nodes_.size(); ++i) votes.set_skewed(i, clocks_.is_skewed(i), now);
}

void clock_watch::start_over(time_point now) {
    clocks_.start_over(now);
    ++restarts_;
    for (node_state& n : nodes_) {
        if (n.look == looking::failed) n.look = looking::idle;
    }
}

void clock_watch::look(std::size_t node, node_orders& out) {
    assert(node < nodes_.size());
    node_state& n = nodes_[node];
    if (n.look == looking::ordered || !n.link.is_ready) return;
    n.look = looking::ordered;
    out.push_back({.what = node_order::task::look, .node = node});
}

void clock_watch::looked(std::size_t node) noexcept {
    assert(node < nodes_.size());
    nodes_[node].look = looking::idle;
    if (nodes_[node].write == writing::done) nodes_[node].write = writing::idle;
}

void clock_watch::clock_written(std::size_t node, bool was_first) noexcept {
    assert(node < nodes_.size());
    nodes_[node].write = was_first ? writing::done : writing::idle;
    if (was_first) clocks_.forget_jump(node);
}

void clock_watch::probe(std::size_t node, node_orders& out) {
    assert(node < nodes_.size());
    if (nodes_[node].write == writing::refused) nodes_[node].write = writing::idle;
    nodes_[node].unused_since.reset();
    look(node, out);
}

bool clock_watch::is_looking() const noexcept {
    return std::ranges::any_of(nodes_, [](const node_state& n) {
        return n.look == looking::ordered || n.link.is_untried;
    });
}

bool clock_watch::is_writing() const noexcept {
    return std::ranges::any_of(nodes_, [](const auto& n) { return n.write == writing::ordered; });
}

bool clock_watch::compare(eligibility& votes, time_point now, node_orders& out) {
    if (!is_guarded_) return false;
    if (const duration gap = clocks_.take_gap(); gap > duration::zero()) {
        out.push_back({.what = node_order::task::clock_gap, .gap = gap});
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) forgive_jump(i, votes, now);
    // Other clients may have corrected the records since we read them. Striking by what we read
    // would undo their correction, and they would undo ours, and so on: so all is read again first.
    bool starts_over = false;
    if (!is_looking() && restarts_ == 0 && has_any_stepped(votes, now)) {
        start_over(now);
        starts_over = true;
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const bool is_idle = nodes_[i].look == looking::idle;
        if (has_on_record(i, votes) && !clocks_.is_fresh(i) && is_idle) look(i, out);
    }
    const bool is_last = !is_looking();
    if (is_last) note_disuse(votes, now);
    for (std::size_t i = 0; i < nodes_.size(); ++i) compare(i, is_last, votes, now, out);
    if (is_last) {
        clocks_.rule_out_gap();
        restarts_ = 0;
    }
    return starts_over;
}

bool clock_watch::has_any_stepped(const eligibility& votes, time_point now) const {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (!has_on_record(i, votes) || nodes_[i].write != writing::idle) continue;
        const auto found = clocks_.check(i, now, true);
        if (found && found->moved_us != 0) return true;
    }
    return false;
}

bool clock_watch::has_on_record(std::size_t node, const eligibility& votes) const noexcept {
    return nodes_[node].link.is_ready && votes.server_of(node).is_master &&
           votes.record_of(node).exists && votes.first_of(node) == node;
}

// `is_last`: no other reading is under way. Until then no node is struck, since one more clock may
// decide where half of them stand against the other half; and nothing is written, since cluster
// time by some of the clocks may differ from that by all.
void clock_watch::compare(std::size_t node, bool is_last, eligibility& votes, time_point now,
                          node_orders& out) {
    const record_facts& record = votes.record_of(node);
    if (!has_on_record(node, votes) || record.is_void) return;
    const auto found = clocks_.check(node, now, is_last);
    if (!found) return;
    const bool has_lost = record.is_of_earlier_process && is_last && !is_unused(node, votes) &&
                          !votes.has_survived(node, found->recorded_at_most);
    if (found->moved_us != 0 || votes.went_back(node) || has_lost) {
        votes.doubt(node);
        if (is_last) {
            write(node, *found,
                  {.what = amendment::kind::strike, .names_process = record.is_of_earlier_process},
                  out);
        }
        return;
    }
    keep(node, *found, is_last, votes, now, out);
}

// The node's clock agrees with its record.
void clock_watch::keep(std::size_t node, const clock_check& found, bool is_last,
                       eligibility& votes, time_point now, node_orders& out) {
    const record_facts& record = votes.record_of(node);
    const bool is_written = record.offset && !record.is_of_earlier_process;
    // A client that only looks takes for written what another one would write.
    if (is_written || (is_last && role_ == record_role::looks)) votes.compared(node, found, now);
    if (!is_last) return;
    const amendment changes = changes_due(node, votes, now);
    if (is_making_ && !record.offset) return;
    // It votes when it has a ttl_max, which it gets with those of a quorum: one command does both.
    if (record.ttl_max == record.ttl_max.zero() && changes.ttl_max == record.ttl_max) return;
    const bool is_urgent = changes.what != amendment::kind::keep ||
                           changes.quarantine > changes.quarantine.zero() ||
                           changes.ttl_max > changes.ttl_max.zero() ||
                           (record.init_us == init_pending && record.since_us == 0);
    // All records are written by one median: one by other nodes' clocks may differ.
    const bool is_fresh = is_written && record.cluster_since_us &&
                          record.init_us != init_pending &&
                          found.recorded_for < refreshed_after(votes);
    if (is_fresh && !is_urgent) return;
    if (is_urgent && nodes_[node].write == writing::done) nodes_[node].write = writing::idle;
    write(node, found, changes, out);
}

// Beside the clock's offset.
amendment clock_watch::changes_due(std::size_t node, const eligibility& votes,
                                   time_point now) const {
    const record_facts& record = votes.record_of(node);
    amendment due{.names_process = record.is_of_earlier_process};
    if (role_ != record_role::keeps) return due;
    const eligibility::numbers wanted = votes.wanted(on_record(votes));
    const bool is_raised =
        wanted.quarantine > record.quarantine &&
        (votes.quarantine() >= wanted.quarantine || may_raise(votes, now));
    if (is_raised) due.quarantine = wanted.quarantine;
    if (wanted.ttl_max > record.ttl_max) due.ttl_max = wanted.ttl_max;
    const bool has_aged = is_raised && has_outlived_leases(node, votes, now);
    const bool is_closed = record.since_us != 0;
    if (is_closed && (has_aged || is_unused(node, votes))) due.what = amendment::kind::open;
    return due;
}

// Longer leases than that need a larger ttl_max on other records: these have to be read since the
// node began to remember.
bool clock_watch::has_outlived_leases(std::size_t node, const eligibility& votes,
                                      time_point now) const {
    if (votes.record_of(node).since_us == 0 || is_unused(node, votes)) return true;
    if (!votes.is_compared(node) || !votes.has_outlived_leases(node, now)) return false;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const bool is_read = clocks_.was_read_since(i, votes.remembers_since(node));
        if (i != node && !is_read) return false;
    }
    return true;
}

// A node is judged by the largest quarantine on any record. So no first one is raised before each
// node has outlived the leases that it may have forgotten.
bool clock_watch::may_raise(const eligibility& votes, time_point now) const {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (!has_on_record(i, votes) || !has_outlived_leases(i, votes, now)) return false;
    }
    return true;
}

void clock_watch::write(std::size_t node, const clock_check& found, const amendment& changes,
                        node_orders& out) {
    if (role_ == record_role::looks || nodes_[node].write != writing::idle) return;
    nodes_[node].write = writing::ordered;
    out.push_back({.what = node_order::task::write_clock, .node = node, .found = found,
                   .changes = changes});
}

node_mask clock_watch::on_record(const eligibility& votes) const noexcept {
    return node_mask::where(nodes_.size(), [&](std::size_t i) { return has_on_record(i, votes); });
}

// Whether no lease can have counted on it for longer than a quarantine. A node without a record is
// one that lost its data: it counts on the others for that.
bool clock_watch::is_long_unseen(std::size_t node, const eligibility& votes,
                                 time_point now) const {
    const record_facts& record = votes.record_of(node);
    const bool is_voter = nodes_[node].link.is_ready && votes.server_of(node).is_master &&
                          votes.first_of(node) == node && !record.is_misfit() && !record.is_away();
    if (!is_voter || !record.exists) return is_voter;
    const auto found = clocks_.check(node, now, true);
    return record.offset && found && found->moved_us == 0 && !votes.went_back(node) &&
           found->recorded_for > votes.whole_quarantine() + longest_unseen_holder;
}

// Once all nodes have answered, and before this client writes to any record that it saw them.
void clock_watch::note_disuse(const eligibility& votes, time_point now) {
    if (on_record(votes).empty()) return;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (!is_long_unseen(i, votes, now)) return;
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        // A record that is to be made again gets another epoch.
        const record_facts& record = votes.record_of(i);
        nodes_[i].unused_since = record.is_void ? std::string() : record.epoch;
    }
}

bool clock_watch::is_unused(std::size_t node, const eligibility& votes) const noexcept {
    const auto& since = nodes_[node].unused_since;
    return since && !since->empty() && *since == votes.record_of(node).epoch;
}

// It has no record, and one that is made would be of an unused node.
bool clock_watch::is_unmade(std::size_t node, const eligibility& votes) const noexcept {
    return role_ == record_role::looks && nodes_[node].unused_since == std::string() &&
           !votes.record_of(node).exists;
}

bool clock_watch::hangs_on_all(std::size_t node, const eligibility& votes, time_point now) const {
    if (!votes.record_of(node).is_of_earlier_process || !is_unused(node, votes)) return false;
    const auto found = clocks_.check(node, now, true);
    return found && !votes.has_survived(node, found->recorded_at_most);
}

// Where another client has struck the node meanwhile its quarantine covers the jump that we saw,
// too: striking it once more would have all other clients greet it again, and each strike it in its
// turn. The record must agree with the clock, and the quarantine have begun after our last reading
// before the jump. Only while it is young: no client has counted a vote since, and a second step
// could have spoiled none.
void clock_watch::forgive_jump(std::size_t node, const eligibility& votes, time_point now) {
    const record_facts& record = votes.record_of(node);
    const auto true_until = clocks_.ran_true_until(node);
    if (!true_until || record.since_us == 0 || !record.cluster_since_us) return;
    const auto found = clocks_.check(node, now, false);
    if (!found || found->moved_us != 0) return;
    const duration age = span_of(found->cluster_us - *record.cluster_since_us);
    if (age < votes.quarantine() / 2 && now - age > *true_until) clocks_.forget_jump(node);
}

}  // namespace redlock::core

// Which nodes may vote, and since when.
// SPDX-License-Identifier: MIT
#include "core/eligibility.hpp"

#include <array>
#include <cassert>
#include <functional>

namespace redlock::core {

using namespace std::chrono_literals;

namespace {

// The records of one declaration are dated one after the other: one may be seen for the last time
// before the next is dated. No set is declared new twice in such a time.
constexpr std::int64_t dated_within_us = 1'000'000;

// How the instants of two declarations compare. One that is not known in cluster time yet was the
// last: all clients read the records again after it.
bool is_earlier(const std::optional<std::int64_t>& a,
                const std::optional<std::int64_t>& b) noexcept {
    if (a == b || b == std::nullopt || a == init_pending) return false;
    return a == std::nullopt || b == init_pending || *a < *b;
}

// Whether the node's data are older than what `before` tells of them. `seen` grows with each write,
// but where a clock that had stepped back was noted, or the node was declared new: then the record
// begins after the earlier one was read.
bool is_older(const record_facts& record, const record_facts& before) noexcept {
    if (!record.offset || !before.offset || record.floor.lifts > before.floor.lifts) return false;
    // Where the clocks went back `seen` goes back with them, and there are more lifts; fewer show
    // older data, whatever their `seen`.
    const bool is_seen_later = record.offset->seen_us >= before.offset->seen_us;
    if (is_seen_later && record.floor.lifts == before.floor.lifts) return false;
    const std::int64_t read_us = before.time_us - before.offset->ahead_us;
    const bool has_begun_since = record.cluster_since_us && *record.cluster_since_us > read_us;
    const bool is_declared_since =
        record.init_us && (*record.init_us == init_pending || *record.init_us > read_us);
    return !has_begun_since && !is_declared_since;
}

// How long another client's bootstrap is given, and how often it is looked at.
constexpr std::chrono::microseconds patience = 5s;
constexpr duration between_looks = 20ms;

bool is_younger(const record_facts& r, duration age) noexcept {
    return r.since_us != 0 && std::chrono::microseconds(r.time_us - r.since_us) < age;
}

bool is_under_way(const record_facts& r) noexcept {
    return !r.mark.empty() && is_younger(r, patience);
}

}  // namespace

eligibility::eligibility(const node_lists& lists, bool is_on, std::chrono::milliseconds ttl_max,
                         drift_policy drift)
    : lists_(lists), is_on_(is_on), ttl_max_(ttl_max), drift_(drift), nodes_(lists.size()) {}

void eligibility::met(std::size_t node, const server_facts& server, time_point now) {
    assert(node < nodes_.size());
    standing& s = nodes_[node];
    const server_facts before = std::exchange(s.server, server);
    if (!s.is_met || before.run_id != server.run_id) {
        s.met_as = ++meetings_;
        s.run_id_before = before.run_id;
        // It may have voted under its old name in a round that is still open.
        if (has_changed_name(node)) s.fit_since = now;
    }
    s.is_met = true;
    s.is_compared = false;
    refresh(now);
}

// Under a new epoch the node's memory begins now, until `compared` tells its age.
void eligibility::read(std::size_t node, const record_facts& record, time_point now) {
    assert(node < nodes_.size());
    standing& s = nodes_[node];
    const bool is_news = s.record.epoch != record.epoch || s.record.since_us != record.since_us;
    if (is_news) s.remembers_since = now;
    if (is_news || record.list.became_us != s.record.list.became_us) {
        const auto settle = std::chrono::ceil<std::chrono::microseconds>(settling_time(record));
        const bool may_be_young = is_on_ || is_young_member(record, settle.count());
        s.became_at = may_be_young ? now : time_point::min();
    }
    // Until the record is another again: the strike is on its way.
    s.went_back = (s.went_back && !is_news) || is_older(record, s.record);
    if (s.went_back || record.is_of_earlier_process || record.is_void) s.is_compared = false;
    s.record = record;
    refresh(now);
}

// The age of the memory is the smaller of the ages by the node's clock and by cluster time. A
// server may boot with a wrong clock that is set right later: its memory is not older by that.
void eligibility::compared(std::size_t node, const clock_check& clock, time_point now) {
    assert(node < nodes_.size());
    standing& s = nodes_[node];
    s.is_compared = true;
    const std::int64_t age_us =
        std::min(clock.time_us - s.record.since_us,
                 s.record.cluster_since_us ? clock.cluster_us - *s.record.cluster_since_us : 0);
    s.remembers_since = now - std::max(span_of(age_us), duration::zero());
    const list_facts& list = s.record.list;
    const std::int64_t member_us =
        std::min(clock.time_us - list.became_us,
                 list.became_cluster_us ? clock.cluster_us - *list.became_cluster_us : 0);
    s.became_at = now - std::max(span_of(member_us), duration::zero());
}

template <class Number>
std::chrono::milliseconds eligibility::largest(Number number) const noexcept {
    std::chrono::milliseconds most{0};
    for (const standing& s : nodes_) {
        if (s.record.exists) most = std::max(most, s.record.*number);
    }
    return most == most.zero() ? ttl_max_ : most;
}

std::chrono::milliseconds eligibility::ttl_max() const noexcept {
    return largest(&record_facts::ttl_max);
}

std::chrono::milliseconds eligibility::quarantine() const noexcept {
    return largest(&record_facts::quarantine);
}

std::chrono::milliseconds eligibility::least_quarantine() const noexcept {
    std::chrono::milliseconds least = ttl_max_;
    for (const standing& s : nodes_) {
        if (s.record.exists) least = std::min(least, s.record.quarantine);
    }
    return least;
}

duration eligibility::whole_quarantine() const noexcept {
    return quarantine() + drift_.allowance(quarantine());
}

// The quorum-th largest on record: each attempt asks for it, so it allocates nothing.
std::chrono::milliseconds eligibility::longest_lease() const noexcept {
    std::array<std::chrono::milliseconds, max_nodes> each{};
    for (std::size_t i = 0; i < nodes_.size(); ++i) each[i] = nodes_[i].record.ttl_max;
    const auto longest = lists_.quorum_th(each, std::greater<>());
    return longest == longest.zero() ? ttl_max_ : longest;
}

std::optional<std::int64_t> eligibility::latest_init() const noexcept {
    std::optional<std::int64_t> latest;
    for (const standing& s : nodes_) {
        if (s.record.exists && is_earlier(latest, s.record.init_us)) latest = s.record.init_us;
    }
    return latest;
}

// A declaration may set the numbers down, so the records from before it do not count.
eligibility::numbers eligibility::largest_on_record() const noexcept {
    const auto latest = latest_init();
    numbers most;
    for (const standing& s : nodes_) {
        if (!s.record.exists || is_earlier(s.record.init_us, latest)) continue;
        most.quarantine = std::max(most.quarantine, s.record.quarantine);
        most.ttl_max = std::max(most.ttl_max, s.record.ttl_max);
    }
    return most;
}

eligibility::numbers eligibility::of_made() const noexcept {
    numbers most = largest_on_record();
    const auto unread =
        std::ranges::count_if(nodes_, [](const standing& s) { return !s.record.exists; });
    if (unread > 1 || nodes_.size() == 1) most.quarantine = std::max(most.quarantine, ttl_max_);
    return most;
}

eligibility::numbers eligibility::wanted(node_mask on_record) const noexcept {
    numbers most = largest_on_record();
    most.quarantine = std::max(most.quarantine, ttl_max_);
    const bool have_all_ours =
        on_record == lists_.all() &&
        std::ranges::all_of(nodes_, [this](const standing& s) {
            return s.record.exists && s.record.quarantine >= ttl_max_;
        });
    // Of a quorum none has a ttl_max: all of these are new, and a node is missing.
    const bool is_first = most.ttl_max == most.ttl_max.zero() && lists_.is_quorum(on_record);
    if (have_all_ours || is_first) most.ttl_max = std::max(most.ttl_max, ttl_max_);
    return most;
}

// A server that was started without its files for a while, and then with them again, shows the
// record of its life before that, and lacks the leases of the life between. Such a life waits for a
// quarantine before it votes, or was declared new: so the record was seen longer ago.
bool eligibility::has_survived(std::size_t node, duration seen_for) const noexcept {
    const record_facts& r = nodes_[node].record;
    if (!r.offset || seen_for >= least_quarantine()) return false;
    // By then clocks had not gone back yet. A little is drift.
    if (seen_for < -drift_.allowance(least_quarantine())) return false;
    const auto latest = latest_init();
    if (!latest) return true;
    if (latest == init_pending) return false;
    if (r.init_us && *r.init_us != init_pending && *latest - *r.init_us <= dated_within_us) {
        return true;
    }
    return r.offset->seen_us - r.offset->ahead_us >= *latest;
}

bool eligibility::has_outlived_leases(std::size_t node, time_point now) const noexcept {
    const standing& s = nodes_[node];
    if (s.remembers_since == time_point::max()) return false;
    const duration longest = std::max(s.record.quarantine, ttl_max());
    return s.remembers_since + longest + drift_.allowance(longest) <= now;
}

void eligibility::set_unlifted(std::size_t node, bool is_unlifted, time_point now) {
    nodes_[node].is_unlifted = is_unlifted;
    refresh(now);
}

void eligibility::set_skewed(std::size_t node, bool is_skewed, time_point now) {
    nodes_[node].is_skewed = is_skewed;
    refresh(now);
}

// Also where the first has no connection any more: it may have voted in a round that is still open.
std::size_t eligibility::first_of(std::size_t node) const noexcept {
    std::size_t first = node;
    const std::string& run_id = nodes_[node].server.run_id;
    if (run_id.empty()) return first;
    for (std::size_t other = 0; other < nodes_.size(); ++other) {
        const bool is_same = nodes_[other].server.run_id == run_id;
        if (is_same && nodes_[other].met_as < nodes_[first].met_as) first = other;
    }
    return first;
}

bool eligibility::has_changed_name(std::size_t node) const noexcept {
    const std::string& run_id = nodes_[node].server.run_id;
    return !run_id.empty() && std::ranges::any_of(nodes_, [&](const standing& s) {
        return &s != &nodes_[node] && s.run_id_before == run_id;
    });
}

// Two clients of different sets may each find a quorum of their own.
bool eligibility::is_among_other_sets() const noexcept {
    return std::ranges::any_of(nodes_, [](const standing& s) { return s.record.is_misfit(); });
}

error_code eligibility::own_unfitness(std::size_t node) const noexcept {
    if (!nodes_[node].is_met) return {};
    if (nodes_[node].record.is_away()) return errc::other_set;
    if (!nodes_[node].server.is_master) return errc::not_master;
    if (first_of(node) != node) return errc::duplicate_node;
    if (nodes_[node].is_skewed || nodes_[node].is_unlifted) return errc::clock_skew;
    return {};
}

void eligibility::refresh(time_point now) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        standing& s = nodes_[i];
        const error_code unfit =
            is_among_other_sets() ? error_code(errc::other_set) : own_unfitness(i);
        if (s.unfit && !unfit) s.fit_since = now;
        s.unfit = unfit;
    }
}

time_point eligibility::quarantine_end(const standing& s) const noexcept {
    const bool is_open = s.is_presumed_open || (s.record.exists && s.record.since_us == 0);
    if (!is_on_ || is_presumed_new_ || is_open) return time_point::min();
    if (s.remembers_since == time_point::max()) return time_point::max();
    return s.remembers_since + whole_quarantine();
}

// Also of a node that is open: it remembers its leases, and those by the earlier list may be alive.
time_point eligibility::settled_from(const standing& s) const noexcept {
    if (!s.record.waits_for_earlier) return time_point::min();
    return s.became_at == time_point::max() ? s.became_at
                                            : s.became_at + settling_time(s.record);
}

// Without the guard no other record is known.
duration eligibility::settling_time(const record_facts& record) const noexcept {
    return is_on_ ? whole_quarantine() : record.quarantine + drift_.allowance(record.quarantine);
}

duration eligibility::settles_in(std::size_t node, time_point now) const noexcept {
    const time_point from = settled_from(nodes_[node]);
    if (from == time_point::max()) return whole_quarantine();
    return std::max(from, now) - now;
}

duration eligibility::member_wait_left(std::size_t node, time_point now) const noexcept {
    const standing& s = nodes_[node];
    if (s.record.list.became_us == 0 || s.record.is_away() || s.became_at == time_point::max()) {
        return duration::zero();
    }
    const time_point from = s.became_at + whole_quarantine();
    return std::max(from, now) - now;
}

time_point eligibility::votes_from(std::size_t node) const noexcept {
    assert(node < nodes_.size());
    const standing& s = nodes_[node];
    if (!s.is_met || s.unfit || !is_compared(node)) return time_point::max();
    return std::max({s.fit_since, quarantine_end(s), settled_from(s)});
}

error_code eligibility::objection(std::size_t node, time_point now) const noexcept {
    assert(node < nodes_.size());
    return nodes_[node].unfit ? nodes_[node].unfit : own_objection(node, now);
}

error_code eligibility::own_objection(std::size_t node, time_point now) const noexcept {
    assert(node < nodes_.size());
    if (const error_code unfit = own_unfitness(node)) return unfit;
    const standing& s = nodes_[node];
    const bool is_over =
        is_compared(node) && quarantine_end(s) <= now && settled_from(s) <= now;
    return is_over ? error_code() : error_code(errc::in_quarantine);
}

duration eligibility::quarantine_left(std::size_t node, time_point now) const noexcept {
    const time_point end = std::max(quarantine_end(nodes_[node]), settled_from(nodes_[node]));
    if (end == time_point::max()) return quarantine();
    return std::max(end, now) - now;  // the beginning of time is too long ago to subtract from
}

bootstrap::bootstrap(std::size_t nodes, bool is_wanted, duration window, std::string mark)
    : mark_(std::move(mark)), window_(window), nodes_(nodes), may_open_(is_wanted) {}

bool bootstrap::has(state s) const noexcept {
    return std::ranges::any_of(nodes_, [s](const auto& n) { return n.is == s; });
}

bool bootstrap::has_makeable() const noexcept {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i].is == state::empty && makeable_.contains(i)) return true;
    }
    return false;
}

bool bootstrap::is_reading_others(std::size_t node) const noexcept {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (i != node && nodes_[i].is == state::unknown) return true;
    }
    return false;
}

bool bootstrap::is_all_ours() const noexcept {
    return std::ranges::all_of(nodes_, [](const auto& n) {
        return n.is == state::ours || n.is == state::excused;
    });
}

bool bootstrap::is_new_cluster() const noexcept {
    return may_open_ && has(state::empty) &&
           std::ranges::all_of(nodes_, [](const auto& n) {
               return n.is == state::empty || n.is == state::excused;
           });
}

bool bootstrap::may_make() const noexcept {
    return !has_yielded_ && !has(state::unknown) && !has(state::other_set);
}

// Beside a node of another set no record will be made: what is empty is read when that node fits.
bool bootstrap::waits_for_news() const noexcept {
    return has(state::theirs) || (has_yielded_ && has(state::empty) && !has(state::other_set));
}

void bootstrap::look_soon(time_point now) noexcept {
    if (waits_for_news() && next_look_ == time_point::max()) next_look_ = now + between_looks;
}

void bootstrap::found(std::size_t node, const record_facts& record, time_point now,
                      time_point sent) {
    assert(node < nodes_.size());
    node_state& n = nodes_[node];
    if (n.is == state::ordered) sent = std::min(sent, n.ordered_at);
    if (!record.exists || record.may_lack_steps) {
        n.is = state::empty;
        may_open_ = may_open_ && !record.exists;
    } else if (record.mark == mark_ && is_younger(record, window_)) {
        // Also where it stood there already: the reply that made it was lost, or came by another of
        // the server's names. The mark would have gone with the data.
        n.is = state::ours;
        // An answer may have lain here while we slept: what it tells is as old as the question.
        const std::chrono::microseconds age(
            std::max<std::int64_t>(record.time_us - record.since_us, 0));
        first_made_ = std::min(first_made_, std::min(sent, now) - age);
    } else if (record.mark != mark_ && is_under_way(record)) {
        n.is = state::theirs;
        n.mark = record.mark;
        if (patience_ends_ == time_point::max()) patience_ends_ = now + patience;
    } else {
        n.is = state::settled;
        may_open_ = false;
    }
    look_soon(now);
}

void bootstrap::note_other_set(std::size_t node) noexcept {
    assert(node < nodes_.size());
    nodes_[node].is = state::other_set;
    may_open_ = false;
}

void bootstrap::note_record(std::size_t node) noexcept {
    assert(node < nodes_.size());
    nodes_[node].is = state::settled;
    may_open_ = false;
}

void bootstrap::down(std::size_t node) noexcept {
    assert(node < nodes_.size());
    node_state& n = nodes_[node];
    if (n.is == state::other_set) return;
    const bool was_ours =
        n.is == state::ours || (n.is == state::ordered && n.ordered != task::look);
    if (was_ours) may_open_ = false;
    n.is = state::down;
}

void bootstrap::done(std::size_t node, time_point now) noexcept {
    assert(node < nodes_.size());
    node_state& n = nodes_[node];
    if (n.is != state::ordered) return;
    n.is = n.ordered == task::withdraw ? state::empty : state::settled;
    look_soon(now);
}

void bootstrap::give(std::vector<order>& out, std::size_t node, task what, time_point now) {
    nodes_[node].is = state::ordered;
    nodes_[node].ordered = what;
    nodes_[node].ordered_at = now;
    out.push_back({node, what});
}

bool bootstrap::must_yield() const noexcept {
    return std::ranges::any_of(nodes_, [this](const node_state& n) {
        return n.is == state::theirs && n.mark < mark_;
    });
}

std::vector<bootstrap::order> bootstrap::due(time_point now) {
    std::vector<order> out;
    if (!keeps_records_) return out;
    if (first_made_ != time_point::max() && now - first_made_ >= window_) may_open_ = false;
    // Nobody is waited for any more, and the last node may come late.
    if (!has_yielded_ && !has(state::theirs) && !has(state::ordered)) {
        patience_ends_ = time_point::max();
    }
    const bool has_lost_patience = now >= patience_ends_;
    if (has_lost_patience) {
        patience_ends_ = time_point::max();
        may_open_ = false;
        has_yielded_ = false;
    }
    if (may_open_ && must_yield()) {
        may_open_ = false;
        has_yielded_ = true;
    }
    const bool opens = may_open_ && is_all_ours();
    if (opens) may_open_ = false;
    const bool looks = now >= next_look_;
    if (looks) next_look_ = now + between_looks;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        node_state& n = nodes_[i];
        if (n.is == state::ours && opens) {
            give(out, i, task::open, now);
        } else if (n.is == state::ours && (has_yielded_ || has(state::other_set))) {
            give(out, i, task::withdraw, now);
        } else if (n.is == state::theirs && has_lost_patience) {
            n.is = state::settled;
        } else if (n.is == state::theirs && looks) {
            give(out, i, may_open_ && may_make() ? task::make : task::look, now);
        } else if (n.is == state::empty && may_make() && makeable_.contains(i)) {
            give(out, i, may_open_ ? task::make : task::settle, now);
        } else if (n.is == state::empty && looks && !has(state::other_set)) {
            give(out, i, task::look, now);
        }
    }
    if (!waits_for_news() && !has(state::ordered)) next_look_ = time_point::max();
    return out;
}

time_point bootstrap::deadline() const noexcept {
    const bool waits = keeps_records_ && (has(state::theirs) || has(state::empty));
    return waits ? std::min(next_look_, patience_ends_) : time_point::max();
}

bool bootstrap::is_pending() const noexcept {
    if (!keeps_records_ || has(state::other_set)) return false;
    if (has(state::theirs) || has_makeable() || has(state::ordered)) return true;
    return may_open_ && !has(state::down);
}

}  // namespace redlock::core

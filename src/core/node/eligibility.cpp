// Which nodes may vote, and since when.
// SPDX-License-Identifier: MIT
#include "core/node/eligibility.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <functional>
#include <utility>

namespace redlock::core {

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
    if (!record.offset || !before.offset || record.offset->seen_us >= before.offset->seen_us) {
        return false;
    }
    const std::int64_t read_us = before.time_us - before.offset->ahead_us;
    const bool has_begun_since = record.cluster_since_us && *record.cluster_since_us > read_us;
    const bool is_declared_since =
        record.init_us && (*record.init_us == init_pending || *record.init_us > read_us);
    return !has_begun_since && !is_declared_since;
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
    if (is_news || record.list.became_us != s.record.list.became_us) s.became_at = now;
    // Until the record is another again: the strike is on its way.
    s.went_back = (s.went_back && !is_news) || is_older(record, s.record);
    if (s.went_back || record.is_of_earlier_process || record.is_void) s.is_compared = false;
    s.record = record;
    refresh(now);
}

void eligibility::opened(std::size_t node, time_point now) {
    assert(node < nodes_.size());
    nodes_[node].record.since_us = 0;
    nodes_[node].record.init_us = init_pending;
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
eligibility::numbers eligibility::wanted(node_mask on_record) const noexcept {
    const auto latest = latest_init();
    numbers most{.quarantine = ttl_max_};
    bool have_all_ours = on_record == lists_.all();
    for (const standing& s : nodes_) {
        have_all_ours = have_all_ours && s.record.exists && s.record.quarantine >= ttl_max_;
        if (!s.record.exists || is_earlier(s.record.init_us, latest)) continue;
        most.quarantine = std::max(most.quarantine, s.record.quarantine);
        most.ttl_max = std::max(most.ttl_max, s.record.ttl_max);
    }
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
    return !run_id.empty() && std::any_of(nodes_.begin(), nodes_.end(), [&](const standing& s) {
        return &s != &nodes_[node] && s.run_id_before == run_id;
    });
}

// Two clients of different sets may each find a quorum of their own.
bool eligibility::is_among_other_sets() const noexcept {
    return std::any_of(nodes_.begin(), nodes_.end(),
                       [](const standing& s) { return s.record.is_misfit(); });
}

error_code eligibility::unfitness(std::size_t node) const noexcept {
    if (is_among_other_sets()) return errc::other_set;
    if (!nodes_[node].is_met) return {};
    if (nodes_[node].record.is_away()) return errc::other_set;
    if (!nodes_[node].server.is_master) return errc::not_master;
    if (first_of(node) != node) return errc::duplicate_node;
    if (nodes_[node].is_skewed) return errc::clock_skew;
    return {};
}

void eligibility::refresh(time_point now) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        standing& s = nodes_[i];
        const error_code unfit = unfitness(i);
        if (s.unfit && !unfit) s.fit_since = now;
        s.unfit = unfit;
    }
}

time_point eligibility::quarantine_end(const standing& s) const noexcept {
    const bool is_open = s.record.exists && s.record.since_us == 0;
    if (!is_on_ || is_presumed_new_ || is_open) return time_point::min();
    if (s.remembers_since == time_point::max()) return time_point::max();
    return s.remembers_since + whole_quarantine();
}

// Also of a node that is open: it remembers its leases, and those by the earlier list may be alive.
time_point eligibility::settled_from(const standing& s) const noexcept {
    if (!is_on_ || !s.record.waits_for_earlier) return time_point::min();
    return s.became_at == time_point::max() ? s.became_at : s.became_at + whole_quarantine();
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
    const standing& s = nodes_[node];
    if (s.unfit) return s.unfit;
    const bool is_over =
        is_compared(node) && quarantine_end(s) <= now && settled_from(s) <= now;
    return is_over ? error_code() : error_code(errc::in_quarantine);
}

duration eligibility::quarantine_left(std::size_t node, time_point now) const noexcept {
    const time_point end = std::max(quarantine_end(nodes_[node]), settled_from(nodes_[node]));
    if (end == time_point::max()) return quarantine();
    return std::max(end, now) - now;  // the beginning of time is too long ago to subtract from
}

}  // namespace redlock::core

// Which nodes may vote, and since when.
// SPDX-License-Identifier: MIT
#include "core/node/eligibility.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace redlock::core {

eligibility::eligibility(std::size_t nodes, bool is_on, std::chrono::milliseconds ttl_max,
                         drift_policy drift)
    : is_on_(is_on), ttl_max_(ttl_max), drift_(drift), nodes_(nodes) {}

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
    ttl_max_ = std::max(ttl_max_, record.ttl_max);
    const bool is_news = s.record.epoch != record.epoch || s.record.since_us != record.since_us;
    if (is_news) s.remembers_since = now;
    s.record = record;
    refresh(now);
}

void eligibility::opened(std::size_t node, time_point now) {
    assert(node < nodes_.size());
    nodes_[node].record.since_us = 0;
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
                       [](const standing& s) { return !s.record.other_set.empty(); });
}

error_code eligibility::unfitness(std::size_t node) const noexcept {
    if (is_among_other_sets()) return errc::other_set;
    if (!nodes_[node].is_met) return {};
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
    if (!is_on_ || is_open) return time_point::min();
    if (s.remembers_since == time_point::max()) return time_point::max();
    return s.remembers_since + ttl_max_ + drift_.allowance(ttl_max_);
}

time_point eligibility::votes_from(std::size_t node) const noexcept {
    assert(node < nodes_.size());
    const standing& s = nodes_[node];
    if (!s.is_met || s.unfit || !is_compared(node)) return time_point::max();
    return std::max(s.fit_since, quarantine_end(s));
}

error_code eligibility::objection(std::size_t node, time_point now) const noexcept {
    assert(node < nodes_.size());
    const standing& s = nodes_[node];
    if (s.unfit) return s.unfit;
    const bool is_over = is_compared(node) && quarantine_end(s) <= now;
    return is_over ? error_code() : error_code(errc::in_quarantine);
}

duration eligibility::quarantine_left(std::size_t node, time_point now) const noexcept {
    const time_point end = quarantine_end(nodes_[node]);
    if (end == time_point::max()) return ttl_max_;
    return std::max(end, now) - now;  // the beginning of time is too long ago to subtract from
}

}  // namespace redlock::core

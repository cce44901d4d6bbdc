// The nodes' wall clocks against each other and against ours.
// SPDX-License-Identifier: MIT
#include "core/node_clocks.hpp"

#include <boost/container/small_vector.hpp>

#include <array>
#include <cassert>
#include <functional>
#include <utility>

namespace redlock::core {

using std::chrono::microseconds;

namespace {

std::int64_t us(duration d) noexcept { return std::chrono::floor<microseconds>(d).count(); }

std::int64_t us(time_point t) noexcept { return us(t.time_since_epoch()); }

// One of each node. Each attempt asks for cluster time, so it allocates nothing for the usual
// numbers.
using instants = boost::container::small_vector<std::int64_t, 9>;

// Of a node whose time is another one at each reading: sums that no number holds.
std::int64_t bounded(std::int64_t sum_us) noexcept {
    constexpr std::int64_t most = std::int64_t{1} << 60;
    return std::clamp(sum_us, -most, most);
}

// The two values in the middle; the same one twice where their number is odd. Sorts them.
template <class Values>
std::pair<std::int64_t, std::int64_t> middle_two(Values& of) {
    std::ranges::sort(of);
    return {of[(of.size() - 1) / 2], of[of.size() / 2]};
}

// Where two differ neither is known to be right: the point between them is far from both.
std::int64_t median(std::vector<std::int64_t> of) {
    const auto [lower, upper] = middle_two(of);
    return lower + (upper - lower) / 2;
}

}  // namespace

duration node_clocks::read(std::size_t node, const clock_reading& r) {
    assert(node < nodes_.size());
    bounds fresh{r.time_us - us(r.received) - 1, r.time_us - us(r.sent) + 1, r.sent};
    std::int64_t jump_us = 0;
    facts& f = nodes_[node];
    if (const auto& old = f.offset) {
        const std::int64_t allowed = us(drift_.allowance(r.received - old->since)) + 1;
        const std::int64_t low_us = old->low_us - allowed;
        const std::int64_t high_us = old->high_us + allowed;
        jump_us = std::max<std::int64_t>(fresh.low_us - high_us, 0) +
                  std::min<std::int64_t>(fresh.high_us - low_us, 0);
        if (f.jump_us == 0) f.true_until = old->since;
        f.jump_us = bounded(f.jump_us + jump_us);
        // At most: the clocks may have drifted the other way since the last reading.
        if (jump_us > 0) f.ahead_us = bounded(f.ahead_us + fresh.high_us - low_us);
        if (jump_us < 0) f.behind_us = bounded(f.behind_us + high_us - fresh.low_us);
        // Where a reading took long, the one before it still tells more.
        if (jump_us == 0) {
            fresh.low_us = std::max(fresh.low_us, low_us);
            fresh.high_us = std::min(fresh.high_us, high_us);
        }
    }
    f.is_known = f.offset.has_value();
    f.offset = fresh;
    std::vector<std::int64_t> known;
    for (const facts& n : nodes_) {
        if (n.offset) known.push_back(n.offset->middle_us());
    }
    median_us_ = median(std::move(known));
    return microseconds(jump_us);
}

std::optional<std::int64_t> node_clocks::now_us(time_point now) const noexcept {
    if (!median_us_) return std::nullopt;
    return us(now) + *median_us_;
}

std::optional<std::int64_t> node_clocks::cluster_us(time_point now) const {
    const auto whole = cluster(now, true);
    if (!whole) return std::nullopt;
    return us(now) + whole->read.low_us + (whole->read.high_us - whole->read.low_us) / 2;
}

std::optional<duration> node_clocks::skew(std::size_t node) const noexcept {
    assert(node < nodes_.size());
    if (!nodes_[node].offset) return std::nullopt;
    return microseconds(nodes_[node].offset->middle_us() - *median_us_);
}

std::optional<std::int64_t> node_clocks::ahead_us(std::size_t node) const noexcept {
    assert(node < nodes_.size());
    if (!nodes_[node].offset) return std::nullopt;
    return nodes_[node].offset->high_us;
}

bool node_clocks::is_skewed(std::size_t node) const noexcept {
    const auto by = skew(node);
    return by && (*by > tolerance_ || *by < -tolerance_);
}

bool node_clocks::is_in_doubt() const noexcept {
    const auto is_off = [this](std::size_t i) { return is_skewed(i); };
    return lists_.prevents_quorum(node_mask::where(nodes_.size(), is_off));
}

// How far a clock may have drifted in `since`, without the constant part of the allowance.
std::int64_t node_clocks::drifted_us(duration since) const noexcept {
    const drift_policy rate{drift_.factor, duration::zero()};
    return us(rate.allowance(std::max(since, duration::zero()))) + 1;
}

bool node_clocks::is_on_record() const noexcept {
    for (const std::size_t i : lists_.old()) {
        if (nodes_[i].recorded) return true;
    }
    return false;
}

// Whether more than half of the clocks that make cluster time have fresh readings.
bool node_clocks::follows_quorum() const noexcept {
    node_mask fresh;
    for (std::size_t i = 0; i < nodes_.size(); ++i) fresh.set(i, is_fresh(i));
    return node_lists(lists_.old(), lists_.old()).is_quorum(fresh);
}

std::optional<node_clocks::cluster_offset> node_clocks::cluster(time_point now,
                                                                bool is_last) const {
    const bool has_records = is_on_record();
    if ((!has_records && !is_last) || !follows_quorum()) return std::nullopt;
    const auto counts = [&](std::size_t i) {
        return lists_.old().contains(i) && is_fresh(i) && (!has_records || nodes_[i].recorded);
    };
    const auto all = median_of(now, counts);
    // Clocks that are on no record are apart by nature, and none of them is known to have stepped.
    if (!all || !all->is_in_doubt || !has_records) return all;
    const auto true_ones = median_of(
        now, [&](std::size_t i) { return counts(i) && nodes_[i].runs_true(); });
    return true_ones ? true_ones : all;
}

// The bounds of the median are the medians of the bounds.
template <class Use>
std::optional<node_clocks::cluster_offset> node_clocks::median_of(time_point now, Use use) const {
    duration oldest{};
    instants low;
    instants high;
    instants sure_low;
    instants sure_high;
    for (auto* const all : {&low, &high, &sure_low, &sure_high}) all->reserve(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (!use(i)) continue;
        const bounds& o = *nodes_[i].offset;
        const recorded_offset r = nodes_[i].recorded.value_or(recorded_offset{});
        const std::int64_t read_us = drifted_us(now - o.since);
        low.push_back(o.low_us - read_us - r.ahead_us);
        high.push_back(o.high_us + read_us - r.ahead_us);
        sure_low.push_back(low.back() - r.error_us);
        sure_high.push_back(high.back() + r.error_us);
        if (nodes_[i].recorded) {
            oldest = std::max(oldest, span_of(us(now) + o.high_us - r.seen_us));
        }
    }
    if (low.empty()) return std::nullopt;
    // While the clocks run true the lower of the middle two is taken, also where their number is
    // even: it stays where it is while the records of the others are corrected one by one. A point
    // between two would move each time. Where the middle two differ by more than drift, it is not
    // known which of them stepped, and the point between them, which is far from both, is taken.
    const std::int64_t apart_us = middle_two(sure_low).second - middle_two(sure_high).first;
    const bool is_in_doubt = apart_us > us(drift_.allowance(oldest)) + 1;
    const auto pick = [&](instants& of) {
        const auto [lower, upper] = middle_two(of);
        return is_in_doubt ? lower + (upper - lower) / 2 : lower;
    };
    return cluster_offset{
        {pick(low), pick(high)}, {pick(sure_low), pick(sure_high)}, oldest, is_in_doubt};
}

std::optional<clock_check> node_clocks::check(std::size_t node, time_point now,
                                              bool is_last) const {
    assert(node < nodes_.size());
    if (!is_fresh(node)) return std::nullopt;
    const auto whole = cluster(now, is_last);
    if (!whole) return std::nullopt;
    const bounds& o = *nodes_[node].offset;
    const std::int64_t read_us = drifted_us(now - o.since);
    const span own{o.low_us - read_us, o.high_us + read_us};
    const std::int64_t low_us = own.low_us - whole->read.high_us;
    const std::int64_t high_us = own.high_us - whole->read.low_us;
    clock_check c;
    c.ahead_us = low_us + (high_us - low_us) / 2;
    // Which clock is the median depends on the nodes that this client follows, and the clocks have
    // drifted apart since their records were written.
    c.error_us = (high_us - low_us) / 2 + drifted_us(whole->oldest);
    c.time_us = us(now) + own.low_us;
    c.cluster_us = us(now) + whole->sure.low_us;
    if (const auto& r = nodes_[node].recorded) {
        // By cluster time: the node's own clock may be what stepped.
        const std::int64_t recorded_us = r->seen_us - r->ahead_us;
        c.recorded_for = span_of(c.cluster_us - recorded_us);
        c.recorded_at_most = span_of(us(now) + whole->sure.high_us + r->error_us - recorded_us);
        const auto since = std::max({c.recorded_for, whole->oldest, duration::zero()});
        const std::int64_t allowed = r->error_us + us(drift_.allowance(since)) + 1;
        const std::int64_t least_us = own.low_us - whole->sure.high_us;
        const std::int64_t most_us = own.high_us - whole->sure.low_us;
        c.moved_us = std::max<std::int64_t>(least_us - (r->ahead_us + allowed), 0) +
                     std::min<std::int64_t>(most_us - (r->ahead_us - allowed), 0);
    }
    // A step that is too small to show against the records still shows against our own clock.
    if (c.moved_us == 0 && is_last) c.moved_us = nodes_[node].jump_us;
    return c;
}

// How far those of a quorum jumped that way; zero where they did not.
std::int64_t node_clocks::common_us(std::int64_t facts::*way) const {
    std::array<std::int64_t, max_nodes> jumps{};
    for (std::size_t i = 0; i < nodes_.size(); ++i) jumps[i] = nodes_[i].*way;
    return lists_.quorum_th(jumps, std::greater<>());
}

duration node_clocks::take_gap() {
    const std::int64_t gap_us = common_us(&facts::ahead_us);
    const std::int64_t lead_us = common_us(&facts::behind_us);
    if (gap_us <= 0 && lead_us <= 0) return duration::zero();
    // The readings of the other nodes were taken before the jump, and their next ones will be after
    // it. Meanwhile the nodes' clocks drifted as at any other time.
    const auto widened = [&](std::int64_t by) {
        return by > 0 ? by + us(drift_.allowance(span_of(by))) : 0;
    };
    for (facts& n : nodes_) {
        if (n.offset && n.ahead_us == 0) n.offset->high_us += widened(gap_us);
        if (n.offset && n.behind_us == 0) n.offset->low_us -= widened(lead_us);
        const bool is_ours = (gap_us > 0 && n.ahead_us != 0) || (lead_us > 0 && n.behind_us != 0);
        if (is_ours) n.jump_us = 0;
        if (gap_us > 0) n.ahead_us = 0;
        if (lead_us > 0) n.behind_us = 0;
    }
    return span_of(gap_us);
}

void node_clocks::rule_out_gap() noexcept {
    if (!follows_quorum()) return;
    for (facts& n : nodes_) n.ahead_us = n.behind_us = 0;
}

}  // namespace redlock::core

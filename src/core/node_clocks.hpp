// The nodes' wall clocks against each other and against ours; reads no clock and asks no node.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/clock.hpp"
#include "value/nodes.hpp"
#include "value/options.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace redlock::core {

/// `us` microseconds, within 71 years either way: a node may answer any number.
constexpr duration span_of(std::int64_t us) noexcept {
    constexpr std::int64_t lifetime = std::int64_t{1} << 51;
    return std::chrono::microseconds(std::clamp(us, -lifetime, lifetime));
}

/// What a node answered to TIME, and the instants on our clock between which it read its own.
struct clock_reading {
    std::int64_t time_us = 0;
    time_point sent{};
    time_point received{};
};

/// What a node's record says of its clock.
struct recorded_offset {
    std::int64_t ahead_us = 0;  ///< Of cluster time.
    std::int64_t error_us = 0;  ///< Of that, either way.
    std::int64_t seen_us = 0;   ///< The node's clock when that was measured.
};

/// A node's clock against cluster time and against its record.
struct clock_check {
    std::int64_t ahead_us = 0;      ///< Of cluster time.
    std::int64_t error_us = 0;      ///< Of that, either way, without the errors on record.
    std::int64_t moved_us = 0;      ///< The step beyond drift and errors; zero: it did not step.
    std::int64_t time_us = 0;       ///< The node's clock, at the earliest.
    std::int64_t cluster_us = 0;    ///< Cluster time, at the earliest.
    /// How long ago the record was written, in cluster time: at least,
    duration recorded_for{};
    duration recorded_at_most{};    ///< and at most.
};

/// Node time, from which fences are drawn, is the median of what the nodes answered, carried
/// forward on `redlock::clock`; our own wall clock has no part in it.
///
/// Cluster time is the same for all clients, whichever nodes they follow: the median of the nodes'
/// clocks, each less the offset on its record. (The plain median differs from quorum to quorum
/// where the clocks are apart.) It needs the clocks of a quorum. Where clocks that are on record
/// disagree, those that jumped against our own clock are left out, if others did not: of two
/// clocks, ours is the third.
class node_clocks {
public:
    /// `tolerance`: how far from the median a node's clock may be. Of a joint list cluster time is
    /// that of the nodes of the old one.
    node_clocks(const node_lists& lists, duration tolerance, drift_policy drift)
        : lists_(lists), tolerance_(tolerance), drift_(drift), nodes_(lists.size()) {}

    /// Takes a reading. Returns how far the node's clock jumped, against ours, since the last one:
    /// zero where it ran true to within the drift allowance over that time.
    duration read(std::size_t node, const clock_reading& r);
    /// What the node's record says of its clock, if anything.
    void set_recorded(std::size_t node, std::optional<recorded_offset> recorded) {
        nodes_[node].recorded = recorded;
    }

    /// In us; nothing before the first reading.
    std::optional<std::int64_t> now_us(time_point now) const noexcept;
    /// Cluster time; nothing where it is not known.
    std::optional<std::int64_t> cluster_us(time_point now) const;
    /// Cluster time; the median where that is not known. What all clients go by as far as they can.
    std::optional<std::int64_t> shared_us(time_point now) const {
        const auto cluster = cluster_us(now);
        return cluster ? cluster : now_us(now);
    }
    /// How far a node's clock is ahead of the median; nothing before its first reading.
    std::optional<duration> skew(std::size_t node) const noexcept;
    bool is_skewed(std::size_t node) const noexcept;
    /// Whether it was read since then, by when the reading began.
    bool was_read_since(std::size_t node, time_point then) const noexcept {
        return nodes_[node].offset && nodes_[node].offset->since >= then;
    }
    /// So many clocks are skewed that no quorum agrees on the time. Of two clocks that are far
    /// apart the median is far from both.
    bool is_in_doubt() const noexcept;
    /// Whether node time is by clocks of a quorum; and whether these agree.
    bool follows_quorum() const noexcept;
    bool is_agreed() const noexcept { return follows_quorum() && !is_in_doubt(); }
    /// By how much a node's clock is ahead of ours at most, in us; nothing before its first
    /// reading.
    std::optional<std::int64_t> ahead_us(std::size_t node) const noexcept;
    duration tolerance() const noexcept { return tolerance_; }
    /// The quarantine that the nodes go by has changed, and with it what is tolerable.
    void set_tolerance(duration d) noexcept { tolerance_ = d; }

    /// A clock has jumped, a node's or ours: only readings that begin from now on are compared.
    void start_over(time_point now) noexcept { compared_from_ = now; }
    bool is_fresh(std::size_t node) const noexcept {
        return was_read_since(node, compared_from_);
    }
    /// Nothing where a fresh reading of the node, or of a quorum, is missing. `is_last`: no other
    /// reading is under way. Until then a jump may still turn out to be our own clock's, and
    /// nothing is returned where no record holds an offset; afterwards cluster time is the plain
    /// median there.
    std::optional<clock_check> check(std::size_t node, time_point now, bool is_last) const;

    /// Where the clocks of a quorum jumped ahead together: for how long, at most, our own clock
    /// stood still. Zero otherwise. Each jump counts once. Where they jumped back together our own
    /// clock went ahead: that is no gap, and no node's step either.
    duration take_gap();
    /// All nodes that are connected have been compared. Where they are a quorum, the jumps until
    /// now were not our clock's. Fewer can't tell, and those that come back later may have jumped,
    /// too.
    void rule_out_gap() noexcept;
    /// The node's jump is on its record.
    void forget_jump(std::size_t node) noexcept { nodes_[node].jump_us = 0; }
    /// When the last reading before the jump began; nothing where there was no jump since
    /// `forget_jump`.
    std::optional<time_point> ran_true_until(std::size_t node) const noexcept {
        if (nodes_[node].jump_us == 0) return std::nullopt;
        return nodes_[node].true_until;
    }

private:
    // By how much a node's clock is ahead of ours: between the two.
    struct bounds {
        std::int64_t low_us;
        std::int64_t high_us;
        time_point since;  // when the reading of it began
        std::int64_t middle_us() const noexcept { return low_us + (high_us - low_us) / 2; }
    };
    struct facts {
        // Neither its first reading here nor one after a jump that is not on its record.
        bool runs_true() const noexcept { return is_known && jump_us == 0; }

        std::optional<bounds> offset;
        bool is_known = false;  // there was a reading to compare the last one with
        std::optional<recorded_offset> recorded;
        std::int64_t jump_us = 0;    // how far it jumped, at least, since `forget_jump`
        time_point true_until{};     // when the reading before that jump began
        std::int64_t ahead_us = 0;   // how far it jumped ahead, at most, since `rule_out_gap`
        std::int64_t behind_us = 0;  // how far it jumped back, likewise
    };
    struct span {
        std::int64_t low_us;
        std::int64_t high_us;
    };
    // By how much cluster time is ahead of our clock.
    struct cluster_offset {
        span read;        // by our readings alone
        span sure;        // the errors on record added
        duration oldest;  // age of the oldest record among those used
        bool is_in_doubt;  // the middle two differ by more than drift
    };

    std::int64_t drifted_us(duration since) const noexcept;
    bool is_on_record() const noexcept;
    std::int64_t common_us(std::int64_t facts::*way) const;
    std::optional<cluster_offset> cluster(time_point now, bool is_last) const;
    template <class Use>
    std::optional<cluster_offset> median_of(time_point now, Use use) const;

    node_lists lists_;
    duration tolerance_;
    drift_policy drift_;
    std::vector<facts> nodes_;
    std::optional<std::int64_t> median_us_;  // of the offsets
    time_point compared_from_ = time_point::min();
};

}  // namespace redlock::core

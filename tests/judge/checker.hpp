// Hands histories to both judges while they grow, and counts; knows no process and no node.
// SPDX-License-Identifier: MIT
#pragma once

#include "exclusion.hpp"
#include "journal.hpp"
#include "times.hpp"
#include "violation.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace redlock::judge {

/// What was counted.
struct tally {
    std::uint64_t grants = 0;
    std::uint64_t readers = 0;  ///< Of the grants; likewise the next three.
    std::uint64_t slots = 0;
    std::uint64_t several = 0;  ///< Of more resources than one.
    std::uint64_t kept = 0;  ///< With a least time.
    std::uint64_t losses = 0;
    std::uint64_t refusals = 0;
    std::uint64_t cancellations = 0;
};

class checker {
public:
    /// `holds_at`: whether the assumptions of docs/guarantees.md held; without it, always.
    explicit checker(std::function<void(const violation&)> on_violation,
                     std::function<bool(clock::time_point)> holds_at = {})
        : on_violation_(std::move(on_violation)), holds_at_(std::move(holds_at)) {}
    checker(const checker&) = delete;
    checker& operator=(const checker&) = delete;

    /// A program such as "w2.5", the fifth process that stood for worker 2, begins.
    void began(const std::string& who) { times_.began(who); }
    /// One line of it.
    void take(unsigned worker, const std::string& who, const entry& e);
    /// The program was killed: what it had not ended ends by itself.
    void died(const std::string& who);
    void report(violation found);

    /// Whether a key with this value may be on a node while all programs that live rest.
    bool may_remain(const std::string& value, clock::time_point now) const {
        return times_.may_remain(value, now);
    }
    /// Each contender without a grant, of `workers` workers with so many contenders each; and that
    /// readers never were together, or never all slots of a resource were held. In words.
    std::vector<std::string> lacks_progress(unsigned workers, unsigned contenders) const;
    /// Reports what that names.
    void check_progress(unsigned workers, unsigned contenders);
    /// The kinds of locks that no program had as they are meant to be had, in words.
    std::vector<std::string> missing_kinds() const;
    /// The leases of a resource that touch these times.
    std::vector<span> near(const std::string& resource, clock::time_point from,
                           clock::time_point to) const {
        return exclusion_.near(resource, from, to);
    }

    const tally& counts() const noexcept { return counts_; }
    std::uint64_t violations() const noexcept { return violations_; }
    /// How often that was broken which rests on assumptions, while they did not hold.
    std::uint64_t excused() const noexcept { return excused_; }

private:
    void count(unsigned worker, const entry& e);

    std::function<void(const violation&)> on_violation_;
    std::function<bool(clock::time_point)> holds_at_;
    exclusion exclusion_{[this](violation found) { report(std::move(found)); }};
    times times_{[this](violation found) { report(std::move(found)); }};
    std::map<std::pair<unsigned, unsigned>, std::uint64_t> grants_of_;
    tally counts_;
    std::uint64_t violations_ = 0;
    std::uint64_t excused_ = 0;
};

}  // namespace redlock::judge

// Judges the histories of all programs while they grow; knows no process and no node.
// SPDX-License-Identifier: MIT
#pragma once

#include "journal.hpp"
#include "timeline.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace redlock::chaos {

struct violation {
    std::string text;
    std::string resource;  ///< Empty: of no single one.
    clock::time_point at{};
    bool rests_on_assumptions = false;  ///< Not promised while a quorum forgets.
};

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

/// No two sections of a resource overlap, and fences rise in the order of the grants; timeline.hpp
/// has the rules, also of readers, slots and least times. Sections arrive in any order; of each
/// resource the latest few thousand are kept, so that an hour costs no more memory than a minute.
class checker {
public:
    /// `holds_at`: whether the assumptions of docs/guarantees.md held; without it, always.
    explicit checker(std::function<void(const violation&)> on_violation,
                     std::function<bool(clock::time_point)> holds_at = {})
        : on_violation_(std::move(on_violation)), holds_at_(std::move(holds_at)) {}

    /// One line of the program `who`, such as "w2.5": the fifth process that stood for worker 2.
    void take(unsigned worker, const std::string& who, const entry& e);
    /// The program was killed: what it had not ended ends by itself.
    void died(const std::string& who);
    void report(violation found);

    /// Whether a key with this value may still be there although its program lives and rests.
    bool may_remain(const std::string& owner, clock::time_point now) const;
    /// Who had no grant; of `workers` workers with so many contenders each. And whether readers
    /// ever were together, and as many ever held slots as there are.
    void check_progress(unsigned workers, unsigned contenders);
    /// The sections of a resource that touch these times, as text.
    std::vector<span> near(const std::string& resource, clock::time_point from,
                                         clock::time_point to) const;

    const tally& counts() const noexcept { return counts_; }
    std::uint64_t violations() const noexcept { return violations_; }
    /// How often that was broken which rests on assumptions, while they did not hold.
    std::uint64_t excused() const noexcept { return excused_; }

private:
    struct section {
        chaos::span span;
        clock::time_point valid_until;
    };
    using sections = std::map<std::uint64_t, section>;

    void grant(unsigned worker, const std::string& who, const entry& e);
    void end(sections::iterator ended, sections& in);
    void refuse(const entry& e);
    bool readers_have_met() const;
    bool were_all_slots_held() const;
    void may_run_out(const std::string& owner, clock::time_point until, clock::time_point now);

    std::function<void(const violation&)> on_violation_;
    std::function<bool(clock::time_point)> holds_at_;
    std::map<std::string, sections> open_;                  // by program
    std::map<std::string, timeline> done_;                  // by resource
    std::map<std::string, clock::time_point> running_out_;  // by owner: detached, or kept
    std::map<std::pair<unsigned, unsigned>, std::uint64_t> grants_of_;
    tally counts_;
    std::uint64_t violations_ = 0;
    std::uint64_t excused_ = 0;
};

}  // namespace redlock::chaos

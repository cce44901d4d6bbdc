// Which leases of one resource may have been held when; knows no program, node or journal.
// SPDX-License-Identifier: MIT
#pragma once

#include "journal.hpp"

#include <redlock/clock.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace redlock::judge {

/// One lease, from the grant to its end.
struct span {
    std::string resource;
    part of;
    std::string owner;
    std::uint64_t fence = 0;
    clock::time_point granted_at{};
    clock::time_point trusted_until{};  ///< Its holder may have relied on it so long.
    clock::time_point seen_until{};     ///< Its holder said so at this instant, at the latest.
    clock::time_point kept_until{};     ///< The resource was to be kept so long in any case.
    clock::time_point asked_at{};       ///< Its acquire began then, or later.

    clock::time_point ends() const { return std::max(trusted_until, kept_until); }
};

std::string to_text(const span& s);

/// What is said of two leases that may not be as they are: the text, and the later of the two.
using complaint = std::function<void(const std::string& text, const span& later)>;

/// The leases of what one holder has alone, or readers together: a resource, or one of its slots.
/// No two overlap, but those of readers; a fence exceeds those of all that were granted before,
/// but for a reader's, which exceeds those of all holders before that were no readers.
///
/// They come in any order. Those that are here already are in order, or that has been said: the
/// neighbours decide. Of each kind the latest few thousand are kept.
class lane {
public:
    void add(const span& s, const complaint& complain);
    void near(clock::time_point from, clock::time_point to, std::vector<span>& found) const;
    /// Whether two readers ever held it at the same time.
    bool readers_have_met() const noexcept { return readers_have_met_; }

private:
    using line = std::multimap<clock::time_point, span>;

    void add_alone(const span& s, const complaint& complain);
    void add_reader(const span& s, const complaint& complain);
    void note_company(const span& reader);

    std::map<clock::time_point, span> alone_;
    line readers_;
    clock::duration longest_reader_{};
    bool readers_have_met_ = false;
};

/// The leases of one resource. Each slot is a lane. While a holder names so many slots,
/// a request for one beyond them is refused. A holder that has one already keeps it.
class timeline {
public:
    void add(const span& s, const complaint& complain);
    std::vector<span> near(clock::time_point from, clock::time_point to) const;

    bool readers_have_met() const noexcept { return whole_.readers_have_met(); }
    /// Whether as many ever were held at the same time as there are.
    bool were_all_slots_held() const noexcept { return were_all_slots_held_; }

private:
    void count_slots(const span& added, const complaint& complain);

    lane whole_;
    std::map<unsigned, lane> slots_;
    std::multimap<clock::time_point, span> taken_;  // of all slots
    clock::duration longest_{};                     // of those
    bool were_all_slots_held_ = false;
};

}  // namespace redlock::judge

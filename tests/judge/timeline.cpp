// Which leases of one resource may have been held when.
// SPDX-License-Identifier: MIT
#include "timeline.hpp"

#include <iterator>
#include <utility>

namespace redlock::judge {
namespace {

constexpr std::size_t most_kept = 8'192;

template <class Line>
void forget_the_oldest(Line& line) {
    if (line.size() > most_kept) line.erase(line.begin());
}

void compare_times(const span& earlier, const span& later, const complaint& complain) {
    const auto both = to_text(earlier) + " and " + to_text(later);
    if (earlier.trusted_until > later.granted_at) {
        const auto overlap =
            std::min(earlier.trusted_until, later.trusted_until) - later.granted_at;
        complain("overlap: " + both + " for " + std::to_string(overlap.count() / 1'000) + " us",
                 later);
    } else if (earlier.kept_until > later.granted_at) {
        const auto early = earlier.kept_until - later.granted_at;
        complain(
            "not kept: " + both + ", " + std::to_string(early.count() / 1'000) + " us too soon",
            later);
    }
}

// A lease of a lock without fences has none.
void compare_fences(const span& earlier, const span& later, const complaint& complain) {
    if (earlier.fence == 0 || later.fence == 0 || earlier.fence < later.fence) return;
    complain("fences out of order: " + to_text(earlier) + " and " + to_text(later), later);
}

// The first lease of a sequence that has a fence: others may lie before it.
template <class Iterator>
const span* first_fenced(Iterator from, Iterator to) {
    const auto at =
        std::find_if(from, to, [](const auto& each) { return each.second.fence != 0; });
    return at == to ? nullptr : &at->second;
}

// Against those before `at` and those from `next` on.
template <class Line, class Iterator>
void compare_fences_around(Line& line, Iterator at, Iterator next, const span& s,
                           const complaint& complain) {
    if (const auto* before = first_fenced(std::make_reverse_iterator(at), line.rend())) {
        compare_fences(*before, s, complain);
    }
    if (const auto* after = first_fenced(next, line.end())) compare_fences(s, *after, complain);
}

// Programs may name different numbers of slots: the smallest counts.
void check_number(const span& held, const span& asked, const complaint& complain) {
    if (asked.of.slot < held.of.of) return;
    if (asked.asked_at < held.granted_at || asked.asked_at >= held.ends()) return;
    complain("too many: " + to_text(asked) + " beside " + to_text(held), asked);
}

// At how many instants so many begin, and end: one that ends at an instant makes room.
class sweep {
public:
    void add(clock::time_point from, clock::time_point until) {
        if (from >= until) return;
        ++changes_[from].begun;
        ++changes_[until].ended;
    }
    unsigned most_at_once() const {
        unsigned now = 0;
        unsigned most = 0;
        for (const auto& [at, change] : changes_) {
            now = now - change.ended + change.begun;
            most = std::max(most, now);
        }
        return most;
    }

private:
    struct change {
        unsigned begun = 0;
        unsigned ended = 0;
    };
    std::map<clock::time_point, change> changes_;
};

}  // namespace

std::string to_text(const span& s) { return s.resource + " " + to_text(s.of) + " " + s.owner; }

void lane::add(const span& s, const complaint& complain) {
    if (s.of.is_shared()) {
        add_reader(s, complain);
    } else {
        add_alone(s, complain);
    }
}

void lane::add_alone(const span& s, const complaint& complain) {
    const auto added = alone_.emplace(s.granted_at, s);
    if (!added.second) {
        return complain("two grants of " + s.resource + " at one instant", s);
    }
    const auto at = added.first;
    const bool is_first = at == alone_.begin();
    const auto next = std::next(at);
    if (!is_first) compare_times(std::prev(at)->second, s, complain);
    if (next != alone_.end()) compare_times(s, next->second, complain);
    compare_fences_around(alone_, at, next, s, complain);
    // The readers between its neighbours, and those that reach into its time or it into theirs.
    auto from = readers_.begin();
    if (!is_first) {
        from = readers_.lower_bound(std::min(std::prev(at)->first, s.granted_at - longest_reader_));
    }
    auto to = readers_.end();
    if (next != alone_.end()) to = readers_.lower_bound(std::max(next->first, s.ends()));
    for (; from != to; ++from) {
        const span& reader = from->second;
        const bool is_before = reader.granted_at < s.granted_at;
        const bool is_between = is_before ? is_first || reader.granted_at >= std::prev(at)->first
                                          : next == alone_.end() || reader.granted_at < next->first;
        const span& earlier = is_before ? reader : s;
        const span& later = is_before ? s : reader;
        compare_times(earlier, later, complain);
        if (is_between) compare_fences(earlier, later, complain);
    }
    forget_the_oldest(alone_);
}

void lane::add_reader(const span& s, const complaint& complain) {
    longest_reader_ = std::max(longest_reader_, s.trusted_until - s.granted_at);
    const auto next = alone_.upper_bound(s.granted_at);
    if (next != alone_.begin()) compare_times(std::prev(next)->second, s, complain);
    if (next != alone_.end()) compare_times(s, next->second, complain);
    compare_fences_around(alone_, next, next, s, complain);
    note_company(s);
    readers_.emplace(s.granted_at, s);
    forget_the_oldest(readers_);
}

void lane::note_company(const span& reader) {
    if (readers_have_met_) return;
    auto other = readers_.lower_bound(reader.granted_at - longest_reader_);
    for (; other != readers_.end() && other->first < reader.seen_until; ++other) {
        if (other->second.seen_until > reader.granted_at) readers_have_met_ = true;
    }
}

void lane::near(clock::time_point from, clock::time_point to, std::vector<span>& found) const {
    const auto take = [&](const auto& all) {
        for (const auto& [at, s] : all) {
            if (s.ends() >= from && at <= to) found.push_back(s);
        }
    };
    take(alone_);
    take(readers_);
}

void timeline::add(const span& s, const complaint& complain) {
    if (!s.of.is_slot()) return whole_.add(s, complain);
    if (s.of.slot >= s.of.of) complain("a slot that there is not: " + to_text(s), s);
    slots_[s.of.slot].add(s, complain);
    count_slots(s, complain);
}

void timeline::count_slots(const span& added, const complaint& complain) {
    longest_ = std::max(longest_, added.ends() - added.granted_at);
    taken_.emplace(added.granted_at, added);
    sweep seen;
    unsigned slots = added.of.of;
    auto other = taken_.lower_bound(added.granted_at - longest_);
    for (; other != taken_.end() && other->first < added.ends(); ++other) {
        const span& s = other->second;
        if (s.ends() <= added.granted_at) continue;
        slots = std::min(slots, s.of.of);
        check_number(s, added, complain);
        check_number(added, s, complain);
        // Only what is beside the new one: all else has been counted.
        seen.add(std::max(s.granted_at, added.granted_at),
                 std::min(s.seen_until, added.seen_until));
    }
    if (seen.most_at_once() >= slots) were_all_slots_held_ = true;
    forget_the_oldest(taken_);
}

std::vector<span> timeline::near(clock::time_point from, clock::time_point to) const {
    std::vector<span> found;
    whole_.near(from, to, found);
    for (const auto& [number, slot] : slots_) slot.near(from, to, found);
    std::sort(found.begin(), found.end(),
              [](const span& a, const span& b) { return a.granted_at < b.granted_at; });
    return found;
}

}  // namespace redlock::judge

// Following the sections of all programs to their ends.
// SPDX-License-Identifier: MIT
#include "exclusion.hpp"

#include <algorithm>

namespace redlock::judge {

void exclusion::take(const std::string& who, const entry& e) {
    if (e.what == entry::kind::granted) {
        open_[who][e.section] = {
            {e.resource, e.of, e.owner, e.fence, e.at, e.at, e.at, e.kept_until, e.asked_at},
            e.valid_until};
        return;
    }
    if (e.what != entry::kind::trusted && e.what != entry::kind::ended) return;
    auto& open = open_[who];
    const auto found = open.find(e.section);
    if (found == open.end()) {
        return report_({who + ": the history ends a section that never began", {}, e.at});
    }
    auto& [span, valid_until] = found->second;
    valid_until = std::max(valid_until, e.valid_until);
    span.trusted_until = std::max(span.trusted_until, e.at);
    span.seen_until = std::max(span.seen_until, e.at);
    if (e.what == entry::kind::ended) end(found, open);
}

// Nothing was given back, so the keys keep everybody out until the validity has passed.
void exclusion::died(const std::string& who) {
    auto& open = open_[who];
    while (!open.empty()) {
        const auto first = open.begin();
        first->second.span.trusted_until = first->second.valid_until;
        end(first, open);
    }
    open_.erase(who);
}

void exclusion::end(sections::iterator ended, sections& in) {
    auto span = std::move(ended->second.span);
    in.erase(ended);
    add(std::move(span));
}

void exclusion::add(span of) {
    for (const auto& name : names_of(of.resource)) {
        of.resource = name;
        done_[name].add(of, [this](const std::string& text, const judge::span& later) {
            report_({text, later.resource, later.granted_at, true});
        });
    }
}

bool exclusion::readers_have_met() const {
    return std::any_of(done_.begin(), done_.end(),
                       [](const auto& each) { return each.second.readers_have_met(); });
}

bool exclusion::were_all_slots_held() const {
    return std::any_of(done_.begin(), done_.end(),
                       [](const auto& each) { return each.second.were_all_slots_held(); });
}

std::vector<span> exclusion::near(const std::string& resource, clock::time_point from,
                                  clock::time_point to) const {
    const auto found = done_.find(resource);
    return found == done_.end() ? std::vector<span>() : found->second.near(from, to);
}

}  // namespace redlock::judge

// The rules of exclusion, fences and progress, applied to histories.
// SPDX-License-Identifier: MIT
#include "checker.hpp"

#include <algorithm>
#include <iterator>

namespace redlock::chaos {

using testing::held_span;

namespace {

// A node that was frozen may have taken its key late by as long as it was frozen.
bool may_be_alive(clock::time_point valid_until, clock::time_point now) {
    return now < valid_until + std::chrono::seconds(5);
}

}  // namespace

void checker::take(unsigned worker, const std::string& who, const entry& e) {
    if (e.what == entry::kind::granted) return grant(worker, who, e);
    if (e.what == entry::kind::refused) return refuse(e);
    if (e.what == entry::kind::broken) return report({who + ": " + e.text, e.resource, e.at});
    if (e.what == entry::kind::quiet) return;
    auto& open = open_[who];
    const auto found = open.find(e.section);
    if (found == open.end()) {
        return report({who + ": the history ends a section that never began", {}, e.at});
    }
    auto& [span, valid_until] = found->second;
    valid_until = std::max(valid_until, e.valid_until);
    span.trusted_until = std::max(span.trusted_until, e.at);
    if (e.what == entry::kind::trusted) return;
    if (e.text == "lost") ++counts_.losses;
    if (e.text == "detached") {
        std::erase_if(running_out_,
                      [&](const auto& old) { return !may_be_alive(old.second, e.at); });
        running_out_[span.owner] = e.valid_until;
    }
    end(found, open);
}

void checker::grant(unsigned worker, const std::string& who, const entry& e) {
    ++counts_.grants;
    ++grants_of_[{worker, e.contender}];
    open_[who][e.section] = {{e.resource, e.owner, e.at, e.at, e.fence}, e.valid_until};
}

void checker::refuse(const entry& e) {
    if (e.text == "cancelled") {
        ++counts_.cancellations;
    } else if (e.text == "expired") {
        ++counts_.losses;  // a lease that was over before its program could look at it
    } else {
        ++counts_.refusals;
    }
}

// Nothing was given back, so the keys keep everybody out until the validity has passed.
void checker::died(const std::string& who) {
    auto& open = open_[who];
    while (!open.empty()) {
        const auto first = open.begin();
        first->second.span.trusted_until = first->second.valid_until;
        end(first, open);
    }
    open_.erase(who);
}

void checker::end(sections::iterator ended, sections& in) {
    auto span = std::move(ended->second.span);
    in.erase(ended);
    add(std::move(span));
}

// Those that are here already do not overlap, or that has been told: the two neighbours decide.
void checker::add(held_span span) {
    constexpr std::size_t most = 4'096;
    auto& line = done_[span.resource];
    const auto at = line.emplace(span.granted_at, span);
    if (!at.second) {
        return report({"two grants of " + span.resource + " at one instant", span.resource,
                       span.granted_at, true});
    }
    if (at.first != line.begin()) compare(std::prev(at.first)->second, span);
    if (std::next(at.first) != line.end()) compare(span, std::next(at.first)->second);
    if (line.size() > most) line.erase(line.begin());
}

void checker::compare(const held_span& earlier, const held_span& later) {
    const auto both = earlier.resource + ": " + earlier.owner + " and " + later.owner;
    if (earlier.trusted_until > later.granted_at) {
        const auto overlap =
            std::min(earlier.trusted_until, later.trusted_until) - later.granted_at;
        report({"overlap: " + both + " for " + std::to_string(overlap.count() / 1'000) + " us",
                later.resource, later.granted_at, true});
    }
    if (earlier.fence >= later.fence) {
        report({"fences out of order: " + both, later.resource, later.granted_at, true});
    }
}

void checker::report(violation found) {
    if (found.rests_on_assumptions && holds_at_ && !holds_at_(found.at)) {
        ++excused_;
        return;
    }
    ++violations_;
    on_violation_(found);
}

bool checker::may_remain(const std::string& owner, clock::time_point now) const {
    const auto found = running_out_.find(owner);
    return found != running_out_.end() && may_be_alive(found->second, now);
}

void checker::check_progress(unsigned workers, unsigned contenders) {
    for (unsigned w = 0; w < workers; ++w) {
        for (unsigned c = 0; c < contenders; ++c) {
            if (grants_of_[{w, c}] > 0) continue;
            report({"contender " + std::to_string(c) + " of worker " + std::to_string(w) +
                        " never got anything",
                    {},
                    clock::now()});
        }
    }
}

std::vector<held_span> checker::near(const std::string& resource, clock::time_point from,
                                     clock::time_point to) const {
    std::vector<held_span> found;
    const auto line = done_.find(resource);
    if (line == done_.end()) return found;
    for (const auto& [at, span] : line->second) {
        if (span.trusted_until >= from && at <= to) found.push_back(span);
    }
    return found;
}

}  // namespace redlock::chaos

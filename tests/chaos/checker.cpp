// The rules of exclusion, fences and progress, applied to histories.
// SPDX-License-Identifier: MIT
#include "checker.hpp"

#include <algorithm>

namespace redlock::chaos {
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
    span.seen_until = std::max(span.seen_until, e.at);
    if (e.what == entry::kind::trusted) return;
    if (e.text == "lost") ++counts_.losses;
    if (e.text == "detached") may_run_out(span.owner, e.valid_until, e.at);
    if (span.kept_until > e.at) may_run_out(span.owner, span.kept_until, e.at);
    end(found, open);
}

void checker::may_run_out(const std::string& owner, clock::time_point until,
                          clock::time_point now) {
    std::erase_if(running_out_, [&](const auto& old) { return !may_be_alive(old.second, now); });
    auto& known = running_out_[owner];
    known = std::max(known, until);
}

void checker::grant(unsigned worker, const std::string& who, const entry& e) {
    ++counts_.grants;
    counts_.readers += e.of.is_shared() ? 1 : 0;
    counts_.slots += e.of.is_slot() ? 1 : 0;
    counts_.several += e.resource.find('+') != e.resource.npos ? 1 : 0;
    counts_.kept += e.kept_until > e.at ? 1 : 0;
    ++grants_of_[{worker, e.contender}];
    open_[who][e.section] = {
        {e.resource, e.of, e.owner, e.fence, e.at, e.at, e.at, e.kept_until, e.asked_at},
        e.valid_until};
}

void checker::refuse(const entry& e) {
    if (e.kept_until > e.at) may_run_out(e.owner, e.kept_until, e.at);
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
    for (const auto& name : names_of(span.resource)) {
        span.resource = name;
        done_[name].add(span, [this](const std::string& text, const chaos::span& later) {
            report({text, later.resource, later.granted_at, true});
        });
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
    // Of any resource: where this machine stalls, those of one may always miss each other.
    if (counts_.readers > 0 && !readers_have_met()) {
        report({"no two readers ever held a resource at the same time", {}, clock::now()});
    }
    if (counts_.slots > 0 && !were_all_slots_held()) {
        report({"never were all slots of a resource held at the same time", {}, clock::now()});
    }
}

bool checker::readers_have_met() const {
    return std::any_of(done_.begin(), done_.end(),
                       [](const auto& each) { return each.second.readers_have_met(); });
}

bool checker::were_all_slots_held() const {
    return std::any_of(done_.begin(), done_.end(),
                       [](const auto& each) { return each.second.were_all_slots_held(); });
}

std::vector<span> checker::near(const std::string& resource, clock::time_point from,
                                clock::time_point to) const {
    const auto found = done_.find(resource);
    return found == done_.end() ? std::vector<span>() : found->second.near(from, to);
}

}  // namespace redlock::chaos

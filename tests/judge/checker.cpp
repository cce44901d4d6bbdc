// What is counted of histories, and what becomes of a violation.
// SPDX-License-Identifier: MIT
#include "checker.hpp"

namespace redlock::judge {

void checker::take(unsigned worker, const std::string& who, const entry& e) {
    count(worker, e);
    if (e.what == entry::kind::broken) report({who + ": " + e.text, e.resource, e.at});
    exclusion_.take(who, e);
    times_.take(who, e);
}

void checker::count(unsigned worker, const entry& e) {
    if (e.what == entry::kind::granted) {
        ++counts_.grants;
        counts_.readers += e.of.is_shared() ? 1 : 0;
        counts_.slots += e.of.is_slot() ? 1 : 0;
        counts_.several += e.resource.find('+') != e.resource.npos ? 1 : 0;
        counts_.kept += e.kept_until > e.at ? 1 : 0;
        ++grants_of_[{worker, e.contender}];
    } else if (e.what == entry::kind::ended) {
        counts_.losses += e.text == "lost" ? 1 : 0;
    } else if (e.what == entry::kind::refused && e.text == "cancelled") {
        ++counts_.cancellations;
    } else if (e.what == entry::kind::refused && e.text == "expired") {
        ++counts_.losses;  // a lease that was over before its program could look at it
    } else if (e.what == entry::kind::refused) {
        ++counts_.refusals;
    }
}

void checker::died(const std::string& who) {
    exclusion_.died(who);
    times_.died(who);
}

void checker::report(violation found) {
    if (found.rests_on_assumptions && holds_at_ && !holds_at_(found.at)) {
        ++excused_;
        return;
    }
    ++violations_;
    on_violation_(found);
}

std::vector<std::string> checker::lacks_progress(unsigned workers, unsigned contenders) const {
    std::vector<std::string> lacks;
    for (unsigned w = 0; w < workers; ++w) {
        for (unsigned c = 0; c < contenders; ++c) {
            if (grants_of_.contains({w, c})) continue;
            lacks.push_back("contender " + std::to_string(c) + " of worker " + std::to_string(w) +
                            " never got anything");
        }
    }
    // Of any resource: where this machine stalls, those of one may always miss each other.
    if (counts_.readers > 0 && !exclusion_.readers_have_met()) {
        lacks.emplace_back("no two readers ever held a resource at the same time");
    }
    if (counts_.slots > 0 && !exclusion_.were_all_slots_held()) {
        lacks.emplace_back("never were all slots of a resource held at the same time");
    }
    return lacks;
}

void checker::check_progress(unsigned workers, unsigned contenders) {
    for (std::string& text : lacks_progress(workers, contenders)) {
        report({std::move(text), {}, clock::now()});
    }
}

std::vector<std::string> checker::missing_kinds() const {
    std::vector<std::string> missing;
    if (counts_.grants == counts_.readers + counts_.slots) missing.emplace_back("a holder");
    if (!exclusion_.readers_have_met()) missing.emplace_back("two readers together");
    if (!exclusion_.were_all_slots_held()) missing.emplace_back("all slots at once");
    if (counts_.kept == 0) missing.emplace_back("one for a least time");
    return missing;
}

}  // namespace redlock::judge

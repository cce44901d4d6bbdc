// How a change of the list of nodes is ended, step by step.
// SPDX-License-Identifier: MIT
#include "core/node/list_commit.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace redlock::core {

namespace {

using change = list_facts::change;

constexpr std::size_t most_remembered = 8;

}  // namespace

list_commit::list_commit(const node_lists& lists, own_sets sets, std::string id, bool gives_up)
    : lists_(lists),
      sets_(std::move(sets)),
      id_(std::move(id)),
      wanted_(gives_up ? sets_.old : sets_.after),
      requested_(lists.all()),
      facts_(lists.size()) {}

bool list_commit::is_majority_of_old(node_mask nodes) const noexcept {
    return 2 * (nodes & lists_.old()).size() > lists_.old().size();
}

void list_commit::begin(step what, node_mask to) {
    step_ = what;
    requested_ = to;
    agreed_ = {};
}

void list_commit::end(error_code why) {
    step_ = step::over;
    requested_ = {};
    outcome_ = why;
}

void list_commit::answered(std::size_t node, answer said, const std::optional<list_facts>& facts,
                           std::chrono::milliseconds quarantine,
                           std::chrono::milliseconds ttl_max) {
    assert(requested_.contains(node));
    if (said == answer::failed) return;
    facts_[node] = facts;
    is_too_young_ = is_too_young_ || said == answer::too_young;
    if (!facts) return;
    if (facts_[node]->set.empty()) facts_[node]->set = sets_.old;
    if (is_above(facts->promised, highest_)) highest_ = facts->promised;
    quarantine_ = std::max(quarantine_, quarantine);
    ttl_max_ = std::max(ttl_max_, ttl_max);
    const bool is_still_closed =
        facts->is == change::closed && facts->accepted == ballot_ && facts->closed_for == proposed_;
    const bool agrees = step_ == step::confirm ? is_still_closed : said == answer::done;
    agreed_.set(node, agrees);
}

void list_commit::advance() {
    switch (step_) {
        case step::read: return after_reading();
        case step::promise: return after_promises();
        case step::close: return after_closes();
        case step::confirm:
            return is_majority_of_old(agreed_) ? decide(proposed_) : begin_again();
        case step::become: break;
        case step::over: assert(false); return;
    }
    for (std::size_t i = 0; i < facts_.size(); ++i) {
        const auto& f = facts_[i];
        const bool has_it = f && f->set == decided_ && f->is == change::none && f->number > number_;
        changed_.set(i, agreed_.contains(i) || has_it);
    }
    if (decided_ != wanted_) return end(errc::other_set);
    const node_lists decided = decided_ == sets_.after ? lists_ : node_lists(lists_.old(), lists_.old());
    end(decided.is_quorum(changed_) ? error_code() : error_code(errc::no_quorum));
}

// Which change of the old set it is, and whether it was decided already.
void list_commit::after_reading() {
    bool is_read = false;
    bool is_decided = false;
    for (const auto& f : facts_) {
        if (!f) continue;
        const bool is_of_old = f->set == sets_.old && f->is != change::joining;
        const bool has_followed = f->set == sets_.after && !f->history.empty() &&
                                  f->history.front().first + 1 == f->number &&
                                  f->history.front().second == sets_.old;
        if (!is_of_old && !has_followed) continue;
        const std::uint64_t number = has_followed ? f->number - 1 : f->number;
        const bool is_later = !is_read || number > number_ || (number == number_ && has_followed);
        is_read = true;
        if (!is_later) continue;
        number_ = number;
        is_decided = has_followed;
        history_ = has_followed ? f->history : std::vector{std::pair(f->number, f->set)};
        if (!has_followed) history_.insert(history_.end(), f->history.begin(), f->history.end());
        history_.resize(std::min(history_.size(), most_remembered));
    }
    if (!is_read) {
        const bool has_any = std::any_of(facts_.begin(), facts_.end(),
                                         [](const auto& f) { return f.has_value(); });
        return end(has_any ? errc::other_set : errc::no_quorum);
    }
    is_decided ? decide(sets_.after) : begin_again();
}

// Which nodes another operator's list names is not known here, but for those of the old one.
void list_commit::decide(const std::string& set) {
    decided_ = proposed_ = set;
    const bool is_known = set == sets_.after || set == sets_.old;
    begin(step::become, is_known ? lists_.all() : lists_.old());
}

// The set that a member of it was given by the change of the old one under `number_`.
bool list_commit::follows_old(const list_facts& f) const {
    return f.is == change::none && f.number == number_ + 1 && !f.history.empty() &&
           f.history.front() == std::pair(number_, sets_.old);
}

void list_commit::begin_again() {
    if (is_too_young_) return end(errc::in_quarantine);
    if (ballots_++ == most_ballots) return end(errc::no_quorum);
    // Written to some node by another attempt: then it was decided.
    for (const auto& f : facts_) {
        if (!f || !follows_old(*f)) continue;
        history_ = f->history;
        return decide(f->set);
    }
    ballot_ = ballot_above(highest_, id_);
    accepted_.clear();
    begin(step::promise, lists_.old());
}

void list_commit::after_promises() {
    if (!is_majority_of_old(agreed_)) {
        // Where no higher ballot was met the same would come of it.
        return is_above(highest_, ballot_) || is_too_young_ ? begin_again() : end(errc::no_quorum);
    }
    proposed_ = wanted_;
    for (const std::size_t i : agreed_) {
        const auto& f = facts_[i];
        if (f->is != change::closed || !is_above(f->accepted, accepted_)) continue;
        accepted_ = f->accepted;
        proposed_ = f->closed_for;
    }
    begin(step::close, lists_.old());
}

void list_commit::after_closes() {
    closed_ = agreed_;
    if (is_majority_of_old(agreed_)) return begin(step::confirm, agreed_);
    is_above(highest_, ballot_) ? begin_again() : end(errc::no_quorum);
}

list_facts list_commit::from() const { return {.set = sets_.old, .number = number_}; }

list_facts list_commit::to(std::size_t node) const {
    if (step_ == step::close) return {.set = proposed_};
    list_facts out{.set = proposed_, .number = number_ + 1, .history = history_};
    // A change that was given up leaves a node that was to join one that is still to.
    if (is_undisturbed() && !lists_.old().contains(node)) out.is = change::joining;
    return out;
}

}  // namespace redlock::core

// The list of nodes while it changes.
// SPDX-License-Identifier: MIT
#include "core/change.hpp"

#include <algorithm>
#include <cassert>
#include <charconv>

namespace redlock::core {

using change = list_facts::change;

namespace {

constexpr std::size_t most_remembered = 8;

std::uint64_t number_of(const std::string& ballot) noexcept {
    std::uint64_t number = 0;
    std::from_chars(ballot.data(), ballot.data() + ballot.size(), number);
    return number;
}

}  // namespace

bool is_above(const std::string& ballot, const std::string& other) noexcept {
    const std::uint64_t number = number_of(ballot);
    const std::uint64_t of_other = number_of(other);
    if (number != of_other) return number > of_other;
    return ballot.substr(std::min(ballot.find('.'), ballot.size())) >
           other.substr(std::min(other.find('.'), other.size()));
}

std::string ballot_above(const std::string& other, const std::string& id) {
    return std::to_string(number_of(other) + 1) + '.' + id;
}

membership::membership(const node_lists& lists, own_sets sets)
    : lists_(lists), sets_(std::move(sets)), nodes_(lists.size()) {}

// A record of the new set that followed the old one. Of a list that does not change there is none.
bool membership::is_of_this_change(const list_facts& f) const noexcept {
    return is_joint() && f.set == sets_.after && !f.history.empty() &&
           f.history.front().first + 1 == f.number && f.history.front().second == sets_.old;
}

bool membership::is_own(const list_facts& f) const noexcept {
    return f.set == sets_.old || is_of_this_change(f);
}

// To a set that followed one of the client's, after other changes.
bool membership::has_moved_on(const list_facts& f) const noexcept {
    return std::ranges::any_of(f.history, [this](const auto& before) {
        return before.second == sets_.old || before.second == sets_.after;
    });
}

void membership::read(std::size_t node, std::optional<list_facts> facts, const std::string& epoch,
                      time_point sent, time_point now, bool may_lack_steps) {
    assert(node < nodes_.size());
    node_state& n = nodes_[node];
    // What tells no set is a record that never changed.
    if (facts && facts->set.empty()) facts->set = sets_.old;
    const bool was_empty = n.answers() && n.lacks_record();
    n.may_lack_steps = may_lack_steps && facts && is_own(*facts);
    n.facts = std::move(facts);
    if (!was_empty && n.lacks_record()) n.empty_since = now;
    n.epoch = epoch;
    n.is_read = true;
    n.is_lost = false;
    n.sent = sent;
    if (n.facts && is_own(*n.facts) && n.facts->is != change::joining) {
        met_ = std::max(met_, n.facts->number);
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i].is = judge(i);
}

membership::standing membership::judge(std::size_t node) const {
    const node_state& n = nodes_[node];
    if (!n.is_read) return standing::unknown;
    if (!n.facts) return standing::empty;
    const standing own = judge_own(node, *n.facts);
    if (own == standing::fits && n.may_lack_steps && !is_missed(node)) return standing::empty;
    if (own != standing::misfit && !is_missed(node)) return own;
    if (own != standing::misfit || later_than(node)) return standing::behind;
    const bool is_new = lists_.is_joint() && !lists_.old().contains(node);
    return is_new && !has_moved_on(*n.facts) ? standing::foreign : standing::misfit;
}

// Without a look at the numbers.
membership::standing membership::judge_own(std::size_t node, const list_facts& f) const {
    if (!is_own(f)) return standing::misfit;
    switch (f.is) {
        case change::none: return standing::fits;
        case change::joining: {
            const bool is_joining =
                is_joint() && f.set == sets_.old && !lists_.old().contains(node);
            return is_joining ? standing::fits : standing::misfit;
        }
        case change::closed: break;
    }
    if (f.is_closed_for_itself()) return standing::fits;
    const bool is_for_ours = is_joint() && f.set == sets_.old && f.closed_for == sets_.after;
    return is_for_ours ? standing::fits : standing::closed;
}

// Others have a larger number. In the client's own change the old set and the new one both count.
bool membership::is_missed(std::size_t node) const {
    const list_facts& f = *nodes_[node].facts;
    if (f.number >= met_) return false;
    const bool is_in_change =
        is_joint() && f.set == sets_.old && f.number + 1 == met_ &&
        std::ranges::any_of(nodes_, [&](const node_state& other) {
            return other.facts && other.facts->number == met_ && is_of_this_change(*other.facts);
        });
    return !is_in_change;
}

// The node whose record follows that of this one, at once or after others.
std::optional<std::size_t> membership::later_than(std::size_t node) const {
    const list_facts& f = *nodes_[node].facts;
    std::optional<std::size_t> latest;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const auto& other = nodes_[i].facts;
        if (!other || !is_own(*other) || other->is != change::none || other->number <= f.number) {
            continue;
        }
        const auto& before = other->history;
        const bool follows = other->set == f.set ||
                             std::find(before.begin(), before.end(), std::pair(f.number, f.set)) !=
                                 before.end();
        if (follows && (!latest || nodes_[*latest].facts->number < other->number)) latest = i;
    }
    return latest;
}

std::optional<membership::turn> membership::turn_of(std::size_t node) const {
    const node_state& n = nodes_[node];
    if (!n.facts) return std::nullopt;
    const auto later = later_than(node);
    if (!later) return std::nullopt;
    const list_facts& l = *nodes_[*later].facts;
    const bool is_next = l.number == n.facts->number + 1 && !l.history.empty() &&
                         l.history.front() == std::pair(n.facts->number, n.facts->set);
    list_facts to{.set = l.set, .names = l.names, .number = l.number, .history = l.history};
    const bool is_joining = is_joint() && l.set == sets_.old && !lists_.old().contains(node);
    if (is_joining) to.is = change::joining;
    return turn{*n.facts, n.epoch, std::move(to), !is_next || is_joining};
}

bool membership::is_after(std::size_t node) const noexcept {
    const auto& f = nodes_[node].facts;
    return f && is_of_this_change(*f);
}

bool membership::waits_for_earlier(std::size_t node) const noexcept {
    const auto& f = nodes_[node].facts;
    return f && f->became_us != 0 && !is_of_this_change(*f);
}

std::uint64_t membership::number_to_declare() const noexcept {
    std::uint64_t largest = 0;
    bool is_changed = false;
    for (const node_state& n : nodes_) {
        if (!n.facts) continue;
        largest = std::max(largest, n.facts->number);
        is_changed = is_changed || n.facts->is_changed();
    }
    return is_changed ? std::max(largest, met_) + 1 : 0;
}

bool membership::is_strict() const noexcept {
    return is_joint() || std::ranges::any_of(nodes_, [this](const node_state& n) {
               return n.facts && is_own(*n.facts) && n.facts->is_changing();
           });
}

bool membership::has_record_of(std::size_t node) const noexcept {
    return !nodes_[node].lacks_record() && is_own(*nodes_[node].facts);
}

// Those whose answers are newer than that the node lost its record; and itself, where it has an old
// one.
node_mask membership::read_since(std::size_t node) const {
    return node_mask::where(nodes_.size(), [&](std::size_t i) {
        const bool is_fresh = nodes_[i].is_read && nodes_[i].sent >= nodes_[node].empty_since;
        return i == node ? nodes_[i].may_lack_steps : is_fresh;
    });
}

// Of a member and a closed node of one number the second knows more.
std::optional<std::size_t> membership::latest(node_mask of) const {
    const auto rank = [](const list_facts& f) {
        return std::pair(f.number, f.is == change::closed);
    };
    std::optional<std::size_t> best;
    for (const std::size_t i : of) {
        const auto& f = nodes_[i].facts;
        if (!f || !is_own(*f) || f->is == change::joining) continue;
        const bool is_later = !best || rank(*f) > rank(*nodes_[*best].facts) ||
                              (rank(*f) == rank(*nodes_[*best].facts) &&
                               is_above(f->accepted, nodes_[*best].facts->accepted));
        if (is_later) best = i;
    }
    return best;
}

// What the latest record of these says. Of the only node of the old list those say it that join.
std::optional<list_facts> membership::latest_for(std::size_t node, node_mask seen) const {
    if (const auto best = latest(seen)) return nodes_[*best].facts;
    std::optional<list_facts> out;
    if (!is_joint() || !(lists_.old() == node_mask::only(node))) return out;
    for (const std::size_t i : seen) {
        const auto& f = nodes_[i].facts;
        const bool is_later = f && is_own(*f) && (!out || f->number > out->number);
        if (is_later) out = list_facts{.set = f->set, .number = f->number, .history = f->history};
    }
    return out;
}

std::optional<list_facts> membership::made(std::size_t node) const {
    const node_mask seen = is_strict() ? read_since(node) : lists_.all();
    const auto best = latest_for(node, seen);
    if (!best) return std::nullopt;
    list_facts out = *best;
    const bool is_old = lists_.old().contains(node);
    const bool is_for_ours =
        is_joint() && out.closed_for == sets_.after && out.set == sets_.old;
    const bool is_for_others = out.is == change::closed && !is_for_ours;
    if (is_for_others && !out.is_closed_for_itself()) return std::nullopt;
    for (const std::size_t i : seen) {
        const auto& f = nodes_[i].facts;
        const bool is_higher = f && f->number == out.number && is_above(f->promised, out.promised);
        if (is_higher) out.promised = f->promised;
    }
    if (is_old || is_of_this_change(out)) return out;
    const auto& own = nodes_[node].facts;
    const bool knows_more = own && own->is == change::joining && own->number > out.number;
    if (knows_more) return own;
    return list_facts{.set = out.set,
                      .names = out.names,
                      .number = out.number,
                      .is = change::joining,
                      .history = std::move(out.history)};
}

// Those of a list that count for the record of a node, where the latest record names `set`: that
// list is known by the records of its nodes alone.
node_mask membership::counted(std::size_t node, const std::string& set, node_mask list) const {
    const bool is_latest = set == (list == lists_.old() ? sets_.old : sets_.after);
    node_mask out = (gone_ & list) - node_mask::only(node);
    for (const std::size_t i : (read_since(node) & list) - out - node_mask::only(node)) {
        out.set(i, !is_latest || has_record_of(i));
    }
    return out;
}

// But for those that an operator gave up.
bool membership::is_all_without_record(node_mask list) const noexcept {
    const node_mask there = list - gone_;
    return std::all_of(there.begin(), there.end(), [this](std::size_t i) {
        return nodes_[i].answers() && nodes_[i].lacks_record();
    });
}

// Each was read since that was seen of all others: so all of them are made at once. (The first one
// that had a record would stop the others.)
bool membership::does_nobody_know_more(node_mask list) const noexcept {
    const node_mask there = list - gone_;
    return is_all_without_record(list) &&
           std::all_of(there.begin(), there.end(), [&](std::size_t i) {
               return std::all_of(there.begin(), there.end(), [&](std::size_t other) {
                   return i == other || nodes_[i].sent >= nodes_[other].empty_since;
               });
           });
}

// Of the others: every majority of the list has one of them, or they are all.
std::size_t membership::needed_of(node_mask list) noexcept {
    return std::min(list.size() - list.size() / 2, list.size() - 1);
}

bool membership::is_enough(std::size_t node, const std::string& set) const {
    const auto is_read = [&](node_mask list) {
        if (!list.contains(node)) return true;
        return counted(node, set, list).size() >= needed_of(list) || does_nobody_know_more(list);
    };
    return is_read(lists_.old()) && is_read(lists_.after());
}

node_mask membership::makeable() const {
    const bool is_strict = this->is_strict();
    return node_mask::where(nodes_.size(), [&](std::size_t i) {
        if (nodes_[i].is != standing::empty) return false;
        const auto to_make = made(i);
        return !is_strict || (to_make && is_enough(i, to_make->set));
    });
}

node_mask membership::waits_for(std::size_t node) const {
    if (nodes_[node].is != standing::empty || !is_strict() || makeable().contains(node)) return {};
    const auto best = latest_for(node, read_since(node));
    node_mask out;
    for (const node_mask list : {lists_.old(), lists_.after()}) {
        const bool will_know = is_all_without_record(list);  // when each was read once more
        if (!list.contains(node) || will_know) continue;
        out |= list - counted(node, best ? best->set : "", list);
    }
    node_mask away;
    const node_mask others = leaving_strangers();
    for (const std::size_t i : out) {
        away.set(i, !nodes_[i].answers() || others.contains(i));
        if (i == node || (!away.contains(i) && !nodes_[i].lacks_record())) out.erase(i);
    }
    // Those that lost theirs, too, help only where an operator gives one of them up.
    return away.empty() ? out : away - node_mask::only(node);
}

node_mask membership::to_give_up(std::size_t node) const {
    const auto best = latest_for(node, read_since(node));
    node_mask out;
    for (const node_mask list : {lists_.old(), lists_.after()}) {
        if (!list.contains(node) || is_all_without_record(list)) continue;
        node_mask known = counted(node, best ? best->set : "", list) | (out & list);
        for (const std::size_t i : list) {
            if (nodes_[i].answers() && has_record_of(i)) known.insert(i);  // in a moment
        }
        for (const node_mask from : {waits_for(node), list}) {
            for (const std::size_t i : (from & list) - known - node_mask::only(node)) {
                if (known.size() >= needed_of(list)) break;
                known.insert(i);
                out.insert(i);
            }
        }
    }
    return out;
}

bool membership::has_no_beginning(std::size_t node) const {
    const node_mask all = lists_.all() - gone_;
    const auto answers = [this](std::size_t i) { return nodes_[i].answers(); };
    return nodes_[node].is == standing::empty && is_joint() && !latest_for(node, all) &&
           std::all_of(all.begin(), all.end(), answers);
}

bool membership::was_away_at_change(std::size_t node) const {
    if (nodes_[node].is != standing::misfit || !lists_.after().contains(node)) return false;
    const node_mask later = node_mask::where(nodes_.size(), [&](std::size_t i) {
        const auto& f = nodes_[i].facts;
        return nodes_[i].is == standing::fits && f && f->number > nodes_[node].facts->number;
    });
    return node_lists(lists_.after(), lists_.after()).is_quorum(later & lists_.after());
}

bool membership::waits_for_joint_program(std::size_t node) const {
    return nodes_[node].is == standing::empty && !made(node) &&
           std::ranges::any_of(nodes_, [](const auto& n) { return n.is == standing::closed; });
}

node_mask membership::to_read() const {
    node_mask out;
    if (!is_strict()) return out;
    const node_mask ready = makeable();
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i].is != standing::empty || ready.contains(i)) continue;
        out |= lists_.all() - gone_ - read_since(i) - node_mask::only(i);
    }
    return out;
}

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
    agreed_ = without_record_ = {};
}

void list_commit::end(error_code why) {
    step_ = step::over;
    requested_ = {};
    outcome_ = why;
}

void list_commit::answered(std::size_t node, rule_outcome said,
                           const std::optional<list_facts>& facts,
                           std::chrono::milliseconds quarantine,
                           std::chrono::milliseconds ttl_max) {
    assert(requested_.contains(node));
    facts_[node] = facts;
    without_record_.set(node, !facts);
    is_too_young_ = is_too_young_ || said == rule_outcome::too_young;
    if (facts && facts->set.empty()) facts_[node]->set = sets_.old;
    if (!is_foreign(node)) foreign_.erase(node);
    if (!facts) return;
    if (is_above(facts->promised, highest_)) highest_ = facts->promised;
    quarantine_ = std::max(quarantine_, quarantine);
    ttl_max_ = std::max(ttl_max_, ttl_max);
    const bool is_still_closed =
        facts->is == change::closed && facts->accepted == ballot_ && facts->closed_for == proposed_;
    const bool agrees = step_ == step::confirm ? is_still_closed : said == rule_outcome::done;
    agreed_.set(node, agrees);
}

void list_commit::advance() {
    switch (step_) {
        case step::read: return after_reading();
        case step::promise: return after_promises();
        case step::close: return after_closes();
        case step::confirm:
            return is_majority_of_old(agreed_) ? decide(proposed_) : begin_again();
        case step::become: return after_writing();
        case step::over: assert(false); return;
    }
}

void list_commit::after_writing() {
    for (std::size_t i = 0; i < facts_.size(); ++i) {
        const auto& f = facts_[i];
        const bool has_it = f && f->set == decided_ && f->is == change::none && f->number > number_;
        changed_.set(i, changed_.contains(i) || agreed_.contains(i) || has_it);
    }
    const node_mask members = decided_ == sets_.after ? lists_.after() : lists_.old();
    const node_mask left = without_record_ & members;
    if (!left.empty() && repetitions_ < most_repetitions) {
        ++repetitions_;
        return begin(step::become, left);
    }
    if (decided_ != wanted_) return end(errc::other_set);
    // The old list was closed when this was decided, whatever became of its nodes since.
    const bool stands = node_lists(members, members).is_quorum(changed_ & members);
    end(stands ? error_code() : error_code(errc::no_quorum));
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
        const bool has_other = std::ranges::any_of(
            facts_, [this](const auto& f) { return f && f->set != sets_.old; });
        return end(has_other ? errc::other_set : errc::no_quorum);
    }
    if (is_decided) return decide(sets_.after);
    for (const std::size_t i : lists_.after() - lists_.old()) {
        foreign_.set(i, wanted_ == sets_.after && is_foreign(i));
    }
    foreign_.empty() ? begin_again() : end(errc::other_set);
}

// It has a record, and that neither comes from the old set nor is one that the change turns.
bool list_commit::is_foreign(std::size_t node) const {
    const auto& f = facts_[node];
    if (!f || f->set == sets_.old) return false;
    const auto has = [](const auto& all, const auto& one) {
        return std::find(all.begin(), all.end(), one) != all.end();
    };
    return !has(history_, std::pair(f->number, f->set)) &&
           !has(f->history, std::pair(number_, sets_.old));
}

// Which nodes another operator's list names is not known here, but for those of the old one.
void list_commit::decide(const std::string& set) {
    decided_ = proposed_ = set;
    const bool is_known = set == sets_.after || set == sets_.old;
    // One that was away before stops no change that was decided: it is named. A later record may be
    // of the list that is in use.
    for (const std::size_t i : set == sets_.old ? lists_.old() : lists_.after()) {
        foreign_.set(i, is_known && is_foreign(i) && facts_[i]->number <= number_);
    }
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
    begin(step::promise, lists_.old());
}

void list_commit::after_promises() {
    if (!is_majority_of_old(agreed_)) {
        // Where no higher ballot was met the same would come of it.
        return is_above(highest_, ballot_) || is_too_young_ ? begin_again() : end(errc::no_quorum);
    }
    std::string accepted;  // the highest ballot under which a node was closed
    std::string found;     // and for which set
    node_mask free = agreed_;
    for (const std::size_t i : agreed_) {
        const auto& f = facts_[i];
        if (f->is != change::closed) continue;
        if (f->closed_for != wanted_) free.erase(i);
        if (!is_above(f->accepted, accepted)) continue;
        accepted = f->accepted;
        found = f->closed_for;
    }
    // Any majority of answers will do, so those that are closed for other sets may be left out. A
    // node whose answer was left out, or lost, is not closed: another may have lost its promise.
    const bool is_free = is_majority_of_old(free);
    in_the_way_ = is_free || found == wanted_ ? node_mask() : lists_.old() - free;
    proposed_ = is_free ? wanted_ : found;
    // A change that is to be given up is not ended in place of that.
    if (proposed_ != wanted_ && wanted_ == sets_.old) return end(errc::other_set);
    begin(step::close, is_free ? free : agreed_);
}

void list_commit::after_closes() {
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

// One acquire, from its call to its verdict.
// SPDX-License-Identifier: MIT
#include "core/acquire.hpp"

#include <numeric>
#include <utility>

namespace redlock::core {

choice weigh(vote v) noexcept {
    switch (v) {
        case vote::pending: return choice::pending;
        case vote::granted: return choice::yes;
        case vote::held:
        case vote::queued: return choice::no;
        case vote::stale: return choice::stale;
        case vote::quarantine:
        case vote::refused:
        case vote::timed_out:
        case vote::unreachable: break;
    }
    return choice::unable;
}

attempt::verdict attempt::decide(verdict v, error_code why) noexcept {
    state_ = v;
    reason_ = why;
    return v;
}

attempt::verdict attempt::cast(std::size_t node, vote v, time_point now) noexcept {
    if (state_ != verdict::open || !tally_.cast(node, weigh(v))) return state_;
    if (tally_.has_won()) {
        if (now < valid_until_) return decide(verdict::granted, {});
        return decide(verdict::refused, errc::validity_exhausted);
    }
    if (tally_.has_lost() && (is_second_ || !tally_.may_win_above())) {
        return decide(verdict::refused,
                      tally_.is_undecidable() ? errc::no_quorum : errc::contended);
    }
    // No later answer can change the clock.
    if (now >= valid_until_) return decide(verdict::refused, errc::validity_exhausted);
    // A quorum would grant a higher fence. The nodes that have not answered may be hung.
    if (!is_second_ && tally_.would_win_above()) return decide(verdict::again, {});
    return state_;
}

void attempt::begin_second(time_point sent) noexcept {
    if (state_ != verdict::again) return;
    assert(!is_second_);
    tally_ = tally(tally_.lists());
    is_second_ = true;
    valid_until_ = redlock::valid_until(sent, ttl_, drift_);
    state_ = verdict::open;
}

bool slot_choice::may_be_free(node_mask taken) const noexcept {
    return !nodes_.prevents_quorum(taken);
}

std::vector<std::uint16_t> slot_choice::least_taken() const {
    std::vector<std::uint16_t> out;
    std::size_t least = max_nodes + 1;
    for (const node_mask taken : taken_) {
        if (may_be_free(taken)) least = std::min(least, taken.size());
    }
    for (std::size_t i = 0; i < taken_.size(); ++i) {
        const bool is_best = taken_[i].size() == least && may_be_free(taken_[i]);
        if (is_best) out.push_back(static_cast<std::uint16_t>(i));
    }
    return out;
}

std::uint16_t slot_choice::draw(std::uint64_t random, std::optional<std::uint16_t> freed) {
    assert(slots_ > 0 && (taken_.empty() || taken_.size() == slots_));
    ++in_a_row_;
    const std::uint16_t count = counted();
    count_anew(nodes_.all());
    const auto best = least_taken();
    taken_.clear();
    const auto suggested = std::exchange(suggested_, std::nullopt);
    if (freed && *freed < slots_) return *freed;
    if (!best.empty()) return best[random % best.size()];
    if (suggested) return *suggested;
    return static_cast<std::uint16_t>(random % count);
}

void slot_choice::count_anew(node_mask queried) noexcept {
    // A node that is gone says nothing any more.
    if (nodes_.is_quorum(queried)) {
        counted_before_ = counted();
        return counted_.clear();
    }
    for (const std::size_t node : queried) {
        if (!counted_.empty()) counted_[node] = slots_;
    }
}

void slot_choice::count(std::size_t node, std::uint16_t slots) {
    if (slots == 0 || slots_ == 0) return;
    counted_.resize(max_nodes, slots_);
    counted_[node] = std::min(slots_, slots);
}

std::uint16_t slot_choice::counted() const noexcept {
    if (!counted_.empty()) return *std::min_element(counted_.begin(), counted_.end());
    return counted_before_ != 0 ? counted_before_ : slots_;
}

std::vector<std::uint16_t> slot_choice::all_slots() const {
    std::vector<std::uint16_t> all(slots_);
    std::iota(all.begin(), all.end(), std::uint16_t{0});
    return all;
}

std::size_t slot_choice::choose(std::vector<std::uint16_t>& among) const {
    const auto taken = [this](std::uint16_t slot) {
        return taken_.empty() ? node_mask() : taken_[slot];
    };
    std::stable_sort(among.begin(), among.end(), [&](std::uint16_t a, std::uint16_t b) {
        return taken(a).size() < taken(b).size();
    });
    const std::uint16_t count = counted();
    std::vector<std::uint16_t> chosen;
    std::vector<std::uint16_t> rest;
    node_mask by_any;
    for (const std::uint16_t slot : among) {
        const node_mask with_it = by_any | taken(slot);
        const bool joins = chosen.size() < needed_ && slot < count && may_be_free(with_it);
        if (joins) by_any = with_it;
        (joins ? chosen : rest).push_back(slot);
    }
    const std::size_t found = chosen.size();
    among = std::move(chosen);
    among.insert(among.end(), rest.begin(), rest.end());
    return found;
}

std::vector<std::uint16_t> slot_choice::draw_all(std::uint64_t random) {
    assert(slots_ >= needed_ && (taken_.empty() || taken_.size() == slots_));
    ++in_a_row_;
    auto all = all_slots();
    // Those of one call lie side by side, so that two at once meet less often than in any order.
    std::rotate(all.begin(), all.begin() + static_cast<int>(random % counted()), all.end());
    choose(all);
    taken_.clear();
    count_anew(nodes_.all());
    suggested_.reset();
    all.resize(needed_);
    return all;
}

void slot_choice::refused(std::size_t node, std::string_view free, std::uint16_t slots) {
    assert(nodes_.all().contains(node));
    count(node, slots);
    taken_.resize(slots_);
    for (std::size_t i = 0; i < slots_; ++i) {
        const std::size_t byte = i / 8;
        const bool is_free = i < slots && byte < free.size() &&
                             (static_cast<unsigned char>(free[byte]) >> (i % 8) & 1U) != 0;
        if (!is_free) taken_[i].insert(node);
    }
}

bool slot_choice::is_another_free() const {
    if (in_a_row_ < most_in_a_row && needed_ > 1 && !taken_.empty()) {
        auto all = all_slots();
        return choose(all) == needed_;
    }
    return in_a_row_ < most_in_a_row &&
           std::ranges::any_of(taken_, [this](node_mask taken) { return may_be_free(taken); });
}

void acquisition::begin(const client_options& all, const node_lists& nodes,
                        const acquire_options& how, std::size_t keys, time_point now) {
    assert(phase_ == phase::queued && all_ == nullptr);
    all_ = &all;
    nodes_ = nodes;
    assert(nodes_.size() > 0 && keys > 0 && keys <= blocked_keys::most);
    terms_ = {.ttl = effective_ttl(all, how.ttl),
              .renew = how.renew,
              .max_hold = how.max_hold,
              .loss_margin = how.loss_margin,
              .watchdog = how.watchdog};
    assert(terms_.ttl > duration::zero() && terms_.ttl <= all.ttl_max);
    min_hold_ = how.min_hold;
    ttl_ = terms_.ttl;
    slot_count_ = how.slots;
    slots_ = {nodes_, how.slots, how.permits};
    if (how.permits > 1) also_slots_ = std::make_unique<std::vector<std::uint16_t>>();
    if (how.wait <= duration::zero()) return;
    retry_ = std::make_unique<retry>(nodes_, now + how.wait);
    is_known_to_nodes_ = all.fencing;
    if (keys > 1) blocked_ = std::make_unique<blocked_keys>(keys);
}

acquisition::actions acquisition::settled(time_point now, duration longest) {
    using enum action;
    // One that begins again may have had its turn first, and been refused since.
    if (is_over() || (tries_ > 0 && phase_ != phase::queued)) return {};
    assert(all_ != nullptr && phase_ == phase::queued && longest >= duration::zero());
    if (!waits()) return {apply};
    nodes_until_ = now + longest;
    due_at_ = std::max(retry_->deadline(), nodes_until_);
    if (is_again_) return {begin_try};
    return {join, arm};
}

acquisition::actions acquisition::admitted(bool others_wait) {
    using enum action;
    assert(!waits() && phase_ == phase::queued);
    return {others_wait ? stand_aside : begin_try};
}

void acquisition::joined(bool is_in_front) noexcept {
    assert(waits());
    if (is_in_front) return;
    reason_ = errc::contended;
    due_at_ = retry_->deadline();
}

acquisition::actions acquisition::turn() {
    using enum action;
    assert(!is_over());
    if (!is_trying()) return {begin_try};
    is_called_again_ = true;
    return {};
}

void acquisition::begin_try(duration longest, std::uint64_t born, time_point now) noexcept {
    assert(all_ != nullptr && !is_over() && left_.nodes.empty());
    phase_ = phase::trying;
    reason_before_ = reason_;
    is_called_again_ = false;
    left_ = {.born = born};
    ++tries_;
    ttl_ = std::min(terms_.ttl, longest);
    attempt_.emplace(nodes_, now, ttl_, drift_of(*all_));
    if (split_) due_at_ = split_->ends_at();
    if (!retry_) return;
    retry_->tried(now);
    due_at_ = has_its_time() ? std::max(retry_->deadline(), nodes_until_) : retry_->deadline();
}

std::uint32_t acquisition::begin_round(duration later, time_point now) noexcept {
    assert(attempt_ && is_trying() && later >= duration::zero());
    attempt_->begin_second(now);
    assert(attempt_->state() == attempt::verdict::open);
    // The grant may come so late, and a holder that dies then tells no node when it was.
    kept_for_ = std::max<duration>(ttl_, longest_stay(*all_, min_hold_, later));
    keys_until_ = valid_until(now, kept_for_, drift_of(*all_));
    left_.note_keys(now, kept_for_);
    unable_ = {};
    granted_by_ = {};
    entered_now_ = {};
    answered_ = {};
    silent_ = {};
    if (split_) split_->begin_round();
    return ++round_;
}

void acquisition::sent(node_mask nodes, std::uint64_t fence, bool is_entered) noexcept {
    assert(is_trying() && (nodes - nodes_.all()).empty() && (!is_entered || ticket_ != 0));
    left_.note_sent(nodes, fence);
    silent_ |= nodes;
    if (blocked_) blocked_->queried(nodes);
    if (!is_entered) return;
    entered_ |= nodes;
    entered_now_ |= nodes;
}

// That all the keys it waited for on a node are free there now is as good as a wake-up.
void acquisition::note(std::size_t node, const outlook& what, time_point now) noexcept {
    if (blocked_ && blocked_->answered(node, what.blocked)) retry_->woken(node, now);
}

acquisition::actions acquisition::cast(std::size_t node, vote v, const outlook& what,
                                       const slots_seen& slots, time_point now) {
    using enum action;
    assert(attempt_ && is_trying() && nodes_.all().contains(node));
    assert(what.has_vote == (weigh(v) != choice::unable));
    unable_.set(node, v == vote::timed_out || v == vote::unreachable || v == vote::quarantine);
    silent_.erase(node);
    mute_.set(node, v == vote::timed_out);
    if (v == vote::granted) granted_by_.insert(node);
    if (!retry_ && weigh(v) == choice::no) {
        if (!split_) split_ = std::make_unique<split_votes>();
        split_->refused(node, v, what.holder);
    }
    // Behind other waiters no slot is free for this one.
    if (slots.count != 0) {
        slots_.refused(node, v == vote::queued ? std::string_view() : slots.free, slots.count);
    }
    note(node, what, now);
    if (retry_) retry_->answered(node, what, now);
    switch (attempt_->cast(node, v, now)) {
        case attempt::verdict::open: return {};
        case attempt::verdict::again: return {second_round};
        case attempt::verdict::granted:
            phase_ = phase::judged;
            if (lasts(now)) return {grant};
            reason_ = errc::validity_exhausted;
            return {judge};
        case attempt::verdict::refused:
            if (split_ && attempt_->reason() == errc::contended &&
                split_->may_be_split(nodes_, granted_by_, silent_)) {
                return {};
            }
            phase_ = phase::judged;
            reason_ = attempt_->reason();
            return {judge};
    }
    return {};
}

// Where the holder died at once the keys must not run out before the least time is over.
bool acquisition::lasts(time_point now) const noexcept {
    const bool is_kept = min_hold_.count() == 0 || keys_until_ >= now + min_hold_;
    return is_kept && lease(now).report_at() > now;
}

renewal acquisition::lease(time_point now) const noexcept {
    assert(attempt_);
    renewal::terms terms = terms_;
    terms.ttl = ttl_;
    return {now, attempt_->valid_until(), terms};
}

acquisition::actions acquisition::give_up(error_code why) {
    using enum action;
    assert(why && !is_over());
    reason_ = why;
    actions next;
    if (is_trying()) next.push_back(recall_votes);
    next.push_back(leave);
    next.push_back(refuse);
    return next;
}

acquisition::actions acquisition::refused(error_code why, time_point now,
                                          std::optional<prospects> further) {
    using enum action;
    assert(why && (is_trying() || phase_ == phase::judged));
    phase_ = phase::judged;
    reason_ = why;
    is_again_ = false;
    // It need not wait for a slot that is free, as far as the nodes said.
    if (tries_another_slot(why)) return {may_queue_ ? release : leave, begin_try};
    slots_.rest();
    if (!retry_ && further && is_split(why)) {
        const auto next = split_->rest(nodes_, further->round_trip, further->random, now);
        if (!next) return give_up(why);
        phase_ = phase::asleep;
        due_at_ = *next;
        return {leave, arm};
    }
    const bool waits_on = further && retry_->refused(why, now, further->random, further->others);
    // Where others name fewer slots than it needs it would hold up all others in vain.
    may_queue_ = why == errc::contended && slots_.are_enough();
    if (!waits_on) return give_up(why);
    const action back = may_queue_ ? release : leave;
    if (is_called_again_) return {back, begin_try};
    phase_ = phase::asleep;
    due_at_ = retry_->next();
    actions next{back};
    if (retry_->is_resting())
        next.push_back(is_cut_off() ? rest_in_turn : rest);
    else
        next.push_back(end_turn);
    if (is_known_to_nodes_) next.push_back(await_wake_up);
    next.push_back(arm);
    return next;
}

std::optional<acquisition::remains> acquisition::give_back(bool leaves) noexcept {
    const bool is_anywhere = !left_.nodes.empty() || (leaves && !entered_.empty());
    const remains all{left_, entered_};
    left_.nodes = {};
    if (leaves) entered_ = {};
    if (!is_anywhere) return std::nullopt;
    return all;
}

void acquisition::draw_ticket(std::optional<std::int64_t> time_us) noexcept {
    if (!is_known_to_nodes_ || ticket_ != 0 || !time_us || *time_us <= 0) return;
    ticket_ = static_cast<std::uint64_t>(*time_us);
}

void acquisition::queried(node_mask nodes) noexcept {
    assert(waits());
    retry_->queried(nodes);
    slots_.count_anew(nodes);
    if (blocked_) blocked_->queried(nodes);
}

acquisition::actions acquisition::woken(std::size_t node, std::size_t key,
                                        std::optional<std::uint16_t> slot, time_point now) {
    using enum action;
    assert(waits() && nodes_.all().contains(node));
    if (slot) slots_.suggest(*slot);
    if (blocked_ && !blocked_->woken(node, key)) return {};
    retry_->woken(node, now);
    if (phase_ != phase::asleep) return {};
    due_at_ = retry_->next();
    return {arm};
}

acquisition::actions acquisition::answered(std::size_t node, const outlook& what, time_point now) {
    using enum action;
    assert(waits() && phase_ == phase::asleep && nodes_.all().contains(node));
    note(node, what, now);
    if (what.has_vote) slots_.count(node, what.slots);
    // Whether it is in others' way only a try tells; one that has made that may sleep.
    retry_->answered(node, what.has_vote || !may_queue_ ? what : outlook{.has_vote = false}, now);
    due_at_ = retry_->next();
    if (retry_->is_resting()) return {arm};
    // What ended its rest ended its turn, too.
    actions next{end_turn};
    if (retry_->is_quorum_voting()) {
        // No try will tell that a quorum can be reached again: the answers did.
        may_queue_ = slots_.are_enough();
        if (is_known_to_nodes_ && ticket_ == 0) next.push_back(draw_ticket);
    }
    next.push_back(arm);
    return next;
}

acquisition::actions acquisition::due(time_point now, duration extra, bool is_behind) {
    using enum action;
    assert(!is_over() && extra >= duration::zero());
    const bool is_at_it = is_trying() || (is_again_ && phase_ == phase::queued);
    if (retry_ && is_at_it && has_its_time()) {
        const time_point until = std::max(retry_->deadline(), nodes_until_ + extra);
        if (until > now) {
            due_at_ = until;
            return {arm};
        }
    }
    if (!waits() && is_trying()) return give_up(reason_);
    if (!waits() && phase_ == phase::asleep) {
        phase_ = phase::queued;
        return {apply};
    }
    assert(waits() || phase_ == phase::queued);
    // Without a wait it is held up for admission, the second time, too, where it begins again. One
    // that has been in front since it joined got no turn for want of time alone.
    if (tries_ == 0 || !waits()) {
        return {is_behind || reason_ == errc::contended ? stand_aside : turn_away};
    }
    if (is_trying() || now >= retry_->deadline()) return give_up(reason_);
    due_at_ = retry_->deadline();  // for as long as its turn does not come
    return {arm, ask_for_turn};
}

void acquisition::shorten(duration gap) noexcept {
    assert(gap >= duration::zero());
    if (attempt_) attempt_->shorten(gap);
    keys_until_ -= gap;
}

}  // namespace redlock::core

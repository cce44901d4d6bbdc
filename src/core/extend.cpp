// Prolonging leases.
// SPDX-License-Identifier: MIT
#include "core/extend.hpp"

#include <utility>

namespace redlock::core {

key_finding key_history::find(std::size_t node, choice c, bool was_free, std::uint64_t seen_fence,
                              time_point since, time_point now) {
    assert(c != choice::unable && c != choice::pending);
    const past known = known_past(node);
    if (c == choice::yes && !was_free) {
        if (gone_.contains(node)) return found(node);
        if (known.unanswered > 0) return key_finding::unsure;
        if (known.kept_from == time_point::min()) return key_finding::kept;
        if (known.kept_from > horizon(since, now)) return key_finding::unsure;
        past_of(node).kept_from = time_point::min();  // whatever comes to light is later
        return key_finding::kept;
    }
    const time_point had_key_at = yes_at(node, since, now);
    if (!was_free && had_key_at != time_point::max()) odd().others.insert(node);
    const bool is_others = seen_fence == 0 || seen_fence > std::max(fence_, known.fence) ||
                           (odd_ && odd_->others.contains(node));
    gone_.insert(node);
    if (was_free && is_others && had_key_at != time_point::max()) {
        passed_on_.insert(node);
        odd().passed_since = std::min(odd().passed_since, had_key_at);
    }
    lost_.insert(node);
    return found(node);
}

void key_history::note_answer(std::size_t node, time_point now) {
    if (known_past(node).unanswered == 0) return;
    past_of(node).unanswered = 0;
    past_of(node).kept_from = now;  // one of them may have taken the key again
}

key_finding key_history::found(std::size_t node) const noexcept {
    if (passed_on_.contains(node)) return key_finding::passed_on;
    return gone_.contains(node) ? key_finding::gone : key_finding::unknown;
}

void key_history::note_holder(std::size_t node) noexcept {
    holders_.insert(node);
    lost_.erase(node);
    late_.erase(node);
    forget_life(node);
}

void key_history::note_taken(std::size_t node, std::uint64_t fence, time_point now) {
    past_of(node).fence = fence;
    past_of(node).kept_from = now;
}

void key_history::note_late_answer(std::size_t node) {
    if (known_past(node).unanswered > 0) --past_of(node).unanswered;
}

void key_history::note_extended(node_mask holders, time_point since, time_point keys_until,
                                bool is_acquitted) {
    for (const std::size_t node : late_ - holders - lost_) {
        past_of(node).lives_until = late_until_;
        past_of(node).yes_at = late_yes_at_;
    }
    for (const std::size_t node : lost_) forget_life(node);
    late_ = holders_ - holders - lost_;
    late_until_ = keys_until_;
    late_yes_at_ = since;
    holders_ = lost_ = {};
    keys_until_ = keys_until;
    for (const std::size_t node : holders) note_holder(node);
    if (is_acquitted) {
        passed_on_ = {};
        if (odd_) {
            odd_->passed_since = time_point::max();
            odd_->others = {};
        }
    }
    gone_ = passed_on_;
}

void key_history::shorten(duration gap) noexcept {
    const auto earlier = [gap](time_point& at) {
        if (at != time_point::min()) at -= gap;
    };
    earlier(keys_until_);
    earlier(late_until_);
    if (!odd_) return;
    for (past& p : odd_->nodes) earlier(p.lives_until);
}

key_history::past& key_history::past_of(std::size_t node) {
    auto& nodes = odd().nodes;
    if (nodes.size() <= node) nodes.resize(node + 1);
    return nodes[node];
}

key_history::oddities& key_history::odd() {
    if (!odd_) odd_ = std::make_unique<oddities>();
    return *odd_;
}

void key_history::forget_life(std::size_t node) noexcept {
    if (odd_ && node < odd_->nodes.size()) odd_->nodes[node].lives_until = time_point::min();
}

key_history::past key_history::known_past(std::size_t node) const noexcept {
    return odd_ && node < odd_->nodes.size() ? odd_->nodes[node] : past();
}

// When the latest yes was requested of a node whose key may still be there; the end of time where
// there was none.
time_point key_history::yes_at(std::size_t node, time_point since, time_point now) const noexcept {
    if (holders_.contains(node)) return now < keys_until_ ? since : time_point::max();
    if (late_.contains(node)) return now < late_until_ ? late_yes_at_ : time_point::max();
    const past known = known_past(node);
    return now < known.lives_until ? known.yes_at : time_point::max();
}

time_point key_history::horizon(time_point since, time_point now) const noexcept {
    time_point first = odd_ ? std::min(since, odd_->passed_since) : since;
    for (std::size_t node = 0; node < max_nodes; ++node) {
        first = std::min(first, yes_at(node, since, now));
    }
    return first;
}

extension::verdict extension::decide(verdict v, error_code why) noexcept {
    state_ = v;
    reason_ = why;
    return v;
}

void extension::note(std::size_t node, key_finding found) noexcept {
    const bool is_gone = found == key_finding::gone || found == key_finding::passed_on;
    pending_.erase(node);
    kept_.set(node, found == key_finding::kept);
    gone_.set(node, is_gone);
    was_passed_on_ = was_passed_on_ || found == key_finding::passed_on;
}

// Those that do not answer may have granted it, too.
bool extension::may_be_over() const noexcept {
    const node_lists& lists = tally_.lists();
    return lists.is_majority_of_any(gone_) ||
           (was_passed_on_ && lists.is_majority_of_any(lists.all() - kept_ - pending_));
}

// It may turn out to be over when the others have answered.
bool extension::is_in_doubt() const noexcept {
    return (was_passed_on_ || !gone_.empty()) && !pending_.empty() && !is_acquitted();
}

extension::verdict extension::cast(std::size_t node, choice c, time_point now,
                                   time_point old_valid_until, key_finding found) noexcept {
    if (state_ != verdict::open || !tally_.cast(node, c)) return state_;
    note(node, found);
    // A key that outlived its lease by a node's clock must not bring the lease back to life.
    if (now >= old_valid_until) return decide(verdict::failed, errc::lost);
    if (may_be_over()) return decide(verdict::failed, errc::not_held);
    if (tally_.has_won()) {
        if (is_in_doubt()) return state_;
        if (now < valid_until_) return decide(verdict::extended, {});
        return decide(verdict::failed, errc::validity_exhausted);
    }
    if (tally_.is_denied()) return decide(verdict::failed, errc::not_held);
    // While a quorum of "not ours" is possible it is worth the wait: it ends the lease at once.
    if (tally_.may_be_denied()) return state_;
    if (!is_last_ && tally_.would_win_above()) return decide(verdict::again, {});
    if (tally_.has_lost()) return decide(verdict::failed, errc::no_quorum);
    return state_;
}

extension::verdict extension::revoke() noexcept {
    if (state_ == verdict::extended || state_ == verdict::failed) return state_;
    return decide(verdict::failed, errc::not_held);
}

adoption::verdict adoption::cast(std::size_t node, choice c, time_point now) noexcept {
    const auto said = count_.cast(node, c, now, time_point::max());
    silent_.erase(node);
    denied_by_.set(node, c == choice::no || c == choice::stale);
    if (said == extension::verdict::extended) return verdict::held;
    if (said != extension::verdict::failed) return verdict::open;
    if (count_.reason() != errc::not_held) return verdict::failed;
    if (lists_.is_quorum(denied_by_)) return verdict::gone;
    return silent_.empty() ? verdict::failed : verdict::open;
}

// What one list alone denies has no quorum.
error_code adoption::reason() const noexcept {
    return count_.reason() == errc::not_held ? error_code(errc::no_quorum) : count_.reason();
}

extension_rounds::lease_index extension_rounds::add(duration ttl, bool sets_ttl,
                                                    refused_fence* memory) {
    assert(round_ == 0 && ttl > duration::zero());
    leases_.push_back({.ttl = ttl,
                       .sets_ttl = sets_ttl,
                       .memory = memory,
                       .refused = memory != nullptr ? *memory : refused_fence(),
                       .count = {}});
    ++open_;
    return leases_.size() - 1;
}

extension_rounds::fence_bounds extension_rounds::begin(const node_lists& nodes, drift_policy drift,
                                                       time_point now, duration quorum_time) {
    assert(round_ < last_round && quorum_time >= duration::zero());
    assert(round_ == 0 || what_next() == next::begin);
    ++round_;
    fence_bounds fence;
    sent_ = now;
    open_ = 0;
    again_ = 0;
    for (lease& l : leases_) {
        if (l.is == state::over) continue;
        l.is = state::open;
        l.count.emplace(nodes, now, l.ttl, drift, round_ == last_round);
        fence.seen = std::max(fence.seen, l.seen_fence);
        fence.raised = std::max(fence.raised, l.refused.raised(now, quorum_time, l.ttl));
        ++open_;
    }
    return fence;
}

extension::verdict extension_rounds::cast(lease_index i, std::size_t node, choice c,
                                          key_finding found, std::uint64_t seen_fence,
                                          time_point now, time_point old_valid_until) noexcept {
    assert(i < leases_.size());
    lease& l = leases_[i];
    l.seen_fence = std::max(l.seen_fence, seen_fence);
    if (seen_fence != 0) l.refused.note(seen_fence, sent_);
    if (seen_fence != 0 && l.memory != nullptr) l.memory->note(seen_fence, sent_);
    if (l.is != state::open) return extension::verdict::open;
    assert(l.count && open_ > 0);
    if (c == choice::no && seen_fence != 0) c = choice::stale;
    const auto v = l.count->cast(node, c, now, old_valid_until, found);
    if (v != extension::verdict::again) return v;
    l.is = state::again;
    --open_;
    ++again_;
    return v;
}

extension::verdict extension_rounds::revoke(lease_index i) noexcept {
    assert(i < leases_.size() && leases_[i].count);
    return leases_[i].is == state::over ? extension::verdict::open : leases_[i].count->revoke();
}

bool extension_rounds::end(lease_index i) noexcept {
    assert(i < leases_.size());
    const auto was = std::exchange(leases_[i].is, state::over);
    if (was == state::over) return false;
    assert((was == state::again ? again_ : open_) > 0);
    --(was == state::again ? again_ : open_);
    return true;
}

void extension_rounds::end_rounds() noexcept {
    for (lease& l : leases_) {
        if (l.is == state::again) l.is = state::open;
    }
    open_ += std::exchange(again_, 0);
    assert(open_ <= leases_.size());
}

extension_rounds::next extension_rounds::what_next() const noexcept {
    if (open_ != 0) return next::wait;
    return again_ != 0 ? next::begin : next::finished;
}

void extension_rounds::shorten(duration gap) noexcept {
    for (lease& l : leases_) {
        l.refused.shorten(gap);
        if (l.count) l.count->shorten(gap);
    }
}

}  // namespace redlock::core

// One acquire, from its call to its verdict.
// SPDX-License-Identifier: MIT
#include "core/lock/acquisition.hpp"

#include <algorithm>
#include <cassert>

namespace redlock::core {

void acquisition::begin(std::size_t nodes, duration ttl, drift_policy drift, duration longest_wait,
                        time_point now) {
    assert(nodes > 0 && nodes <= max_nodes && phase_ == phase::queued);
    nodes_ = nodes;
    ttl_ = ttl;
    drift_ = drift;
    if (longest_wait > duration::zero())
        retry_ = std::make_unique<retry>(nodes, now + longest_wait);
}

void acquisition::settled(time_point now, duration longest) noexcept {
    assert(waits());
    nodes_until_ = now + longest;
    due_at_ = std::max(retry_->deadline(), nodes_until_);
}

void acquisition::stands_behind() noexcept {
    assert(waits());
    reason_ = errc::contended;
    due_at_ = retry_->deadline();
}

acquisition::step acquisition::turn() noexcept {
    if (!is_trying()) return step::begin_try;
    is_called_again_ = true;
    return step::none;
}

void acquisition::begin_try(time_point now) noexcept {
    assert(!is_over());
    phase_ = phase::trying;
    is_called_again_ = false;
    voters_ = {};
    ++tries_;
    attempt_.emplace(nodes_, now, ttl_, drift_);
    if (!retry_) return;
    retry_->tried(now);
    due_at_ = tries_ == 1 ? std::max(retry_->deadline(), nodes_until_) : retry_->deadline();
}

std::uint32_t acquisition::begin_round(time_point now) noexcept {
    assert(attempt_);
    attempt_->begin_second(now);
    return ++round_;
}

acquisition::step acquisition::cast(std::size_t node, vote v, const outlook& what,
                                    time_point now) noexcept {
    assert(attempt_);
    if (retry_) retry_->told(node, what, now);
    switch (attempt_->cast(node, v, now)) {
        case attempt::verdict::open: break;
        case attempt::verdict::again: return step::second_round;
        case attempt::verdict::granted: phase_ = phase::judged; return step::grant;
        case attempt::verdict::refused:
            phase_ = phase::judged;
            reason_ = attempt_->reason();
            return step::judge;
    }
    return step::none;
}

acquisition::step acquisition::refused(error_code why, time_point now,
                                       std::optional<prospects> further) noexcept {
    phase_ = phase::judged;
    reason_ = why;
    const bool waits_on =
        further && retry_->refused(why, now, further->random, further->others);
    may_queue_ = why == errc::contended;
    if (!waits_on) return step::give_up;
    if (is_called_again_) return step::begin_try;
    phase_ = phase::asleep;
    due_at_ = retry_->next();
    return step::sleep;
}

void acquisition::woken(std::size_t node, time_point now) noexcept {
    assert(waits());
    retry_->woken(node, now);
    if (phase_ == phase::asleep) due_at_ = retry_->next();
}

void acquisition::told(std::size_t node, const outlook& what, bool has_vote,
                       time_point now) noexcept {
    voters_.set(node, has_vote);
    // Whether it is in others' way only a try tells; one that has made that may sleep.
    retry_->told(node, has_vote || !may_queue_ ? what : outlook{}, now);
    due_at_ = retry_->next();
}

bool acquisition::may_reach_quorum() const noexcept {
    return voters_.size() >= quorum(nodes_);
}

bool acquisition::postpone(time_point now, duration extra) noexcept {
    if (!retry_ || !is_trying() || tries_ != 1) return false;
    const time_point until = std::max(retry_->deadline(), nodes_until_ + extra);
    if (until <= now) return false;
    due_at_ = until;
    return true;
}

acquisition::step acquisition::due(time_point now, bool is_queued) noexcept {
    if (tries_ == 0) return is_queued ? step::stand_aside : step::turn_away;
    if (is_trying() || now >= retry_->deadline()) return step::give_up;
    due_at_ = retry_->deadline();  // for as long as its turn does not come
    return step::ask_for_turn;
}

}  // namespace redlock::core

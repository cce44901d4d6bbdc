// One try to acquire.
// SPDX-License-Identifier: MIT
#include "core/lock/attempt.hpp"

namespace redlock::core {

choice weigh(vote v) noexcept {
    switch (v) {
        case vote::pending: return choice::pending;
        case vote::granted: return choice::yes;
        case vote::held:
        case vote::queued:
        case vote::stale: return choice::no;
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

// Whether a second round could win if `more` nodes besides those that answered granted it.
bool attempt::second_may_win(std::size_t more) const noexcept {
    return !is_second_ && tally_.yes() + stale_ + more >= tally_.quorum();
}

attempt::verdict attempt::cast(std::size_t node, vote v, time_point now) noexcept {
    if (state_ != verdict::open || !tally_.cast(node, weigh(v))) return state_;
    if (v == vote::stale) ++stale_;
    if (tally_.has_won()) {
        if (now < valid_until_) return decide(verdict::granted, {});
        return decide(verdict::refused, errc::validity_exhausted);
    }
    if (tally_.has_lost() && !second_may_win(tally_.pending())) {
        return decide(verdict::refused,
                      tally_.is_undecidable() ? errc::no_quorum : errc::contended);
    }
    // No later answer can change the clock.
    if (now >= valid_until_) return decide(verdict::refused, errc::validity_exhausted);
    // A quorum would grant a higher fence. The nodes that have not answered may be hung.
    if (second_may_win(0)) return decide(verdict::again, {});
    return state_;
}

void attempt::begin_second(time_point sent) noexcept {
    if (state_ != verdict::again) return;
    tally_ = tally(tally_.nodes());
    stale_ = 0;
    is_second_ = true;
    valid_until_ = redlock::valid_until(sent, ttl_, drift_);
    state_ = verdict::open;
}

}  // namespace redlock::core

// One try to acquire.
// SPDX-License-Identifier: MIT
#include "core/lock/attempt.hpp"

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
    tally_ = tally(tally_.lists());
    is_second_ = true;
    valid_until_ = redlock::valid_until(sent, ttl_, drift_);
    state_ = verdict::open;
}

}  // namespace redlock::core

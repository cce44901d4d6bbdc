// One try to acquire.
// SPDX-License-Identifier: MIT
#include "core/attempt.hpp"

namespace redlock::core {

ballot weigh(vote v) noexcept {
    switch (v) {
        case vote::pending: return ballot::pending;
        case vote::granted: return ballot::yes;
        case vote::held:
        case vote::queued:
        case vote::stale: return ballot::no;
        case vote::quarantine:
        case vote::refused:
        case vote::timed_out:
        case vote::unreachable: break;
    }
    return ballot::unable;
}

attempt::verdict attempt::decide(verdict v, error_code why) noexcept {
    state_ = v;
    reason_ = why;
    return v;
}

attempt::verdict attempt::cast(std::size_t node, vote v, time_point now) noexcept {
    if (state_ != verdict::open || !poll_.cast(node, weigh(v))) return state_;
    if (poll_.carried()) {
        if (now < valid_until_) return decide(verdict::granted, {});
        return decide(verdict::refused, errc::validity_exhausted);
    }
    if (poll_.hopeless()) {
        return decide(verdict::refused, poll_.crippled() ? errc::no_quorum : errc::contended);
    }
    // Nobody who answers later can change the clock.
    if (now >= valid_until_) return decide(verdict::refused, errc::validity_exhausted);
    return state_;
}

void attempt::abandon(error_code why) noexcept {
    if (state_ == verdict::open) decide(verdict::refused, why);
}

}  // namespace redlock::core

// One round to prolong a lease.
// SPDX-License-Identifier: MIT
#include "core/extension.hpp"

namespace redlock::core {

extension::verdict extension::decide(verdict v, error_code why) noexcept {
    state_ = v;
    reason_ = why;
    return v;
}

extension::verdict extension::cast(std::size_t node, ballot b, time_point now,
                                   time_point old_valid_until, bool is_stale) noexcept {
    if (state_ != verdict::open || !poll_.cast(node, b)) return state_;
    if (is_stale) ++stale_;
    // A key that outlived its lease by a node's clock must not bring the lease back to life.
    if (now >= old_valid_until) return decide(verdict::failed, errc::lost);
    if (poll_.carried()) {
        if (now < valid_until_) return decide(verdict::extended, {});
        return decide(verdict::failed, errc::validity_exhausted);
    }
    if (poll_.no() >= poll_.quorum()) return decide(verdict::failed, errc::not_held);
    // While a quorum of "not ours" is possible it is worth the wait: it ends the lease at once.
    const bool can_still_be_denied = poll_.no() + poll_.pending() >= poll_.quorum();
    if (can_still_be_denied) return state_;
    if (!is_last_ && poll_.yes() + stale_ >= poll_.quorum()) return decide(verdict::again, {});
    if (poll_.hopeless()) return decide(verdict::failed, errc::no_quorum);
    return state_;
}

void extension::abandon(error_code why) noexcept {
    if (state_ == verdict::open || state_ == verdict::again) decide(verdict::failed, why);
}

}  // namespace redlock::core

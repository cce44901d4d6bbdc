// One round to prolong a lease.
// SPDX-License-Identifier: MIT
#include "core/lock/extension.hpp"

namespace redlock::core {

extension::verdict extension::decide(verdict v, error_code why) noexcept {
    state_ = v;
    reason_ = why;
    return v;
}

extension::verdict extension::cast(std::size_t node, choice c, time_point now,
                                   time_point old_valid_until) noexcept {
    if (state_ != verdict::open || !tally_.cast(node, c)) return state_;
    // A key that outlived its lease by a node's clock must not bring the lease back to life.
    if (now >= old_valid_until) return decide(verdict::failed, errc::lost);
    if (tally_.has_won()) {
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

}  // namespace redlock::core

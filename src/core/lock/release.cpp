// Giving a lease back.
// SPDX-License-Identifier: MIT
#include "core/lock/release.hpp"

namespace redlock::core {

release_message message_of_release(const traces& left, const release_facts& facts,
                                   time_point now) noexcept {
    release_message out;
    out.raises_fence = facts.may_arrive_late;
    out.names_waiter = facts.is_entered && !(facts.is_again && facts.waits_on);
    out.keep = left.to_keep_at_most(now);
    out.cuts_fence = left.has_long_fences(now);
    return out;
}

node_mask nodes_to_release(const traces& left, node_mask entered, node_mask all) noexcept {
    return left.is_known_elsewhere ? all : left.nodes | entered;
}

std::optional<traces> release_after_owed(const traces& left, bool is_fenced) noexcept {
    if (!left.is_known_elsewhere || !is_fenced) return std::nullopt;
    traces next = left;
    next.nodes = {};
    return next;
}

bool release::cast(std::size_t node, choice c) noexcept {
    if (complete_ || !tally_.cast(node, c)) return false;
    if (tally_.is_denied()) {
        outcome_ = errc::not_held;
    } else if (tally_.is_undecidable()) {
        outcome_ = errc::no_quorum;
    } else if (!tally_.has_answers() || tally_.may_be_denied()) {
        return false;
    }
    complete_ = true;
    return true;
}

}  // namespace redlock::core

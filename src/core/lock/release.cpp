// One round to give a lease back.
// SPDX-License-Identifier: MIT
#include "core/lock/release.hpp"

namespace redlock::core {

bool release::cast(std::size_t node, choice c) noexcept {
    if (complete_ || !tally_.cast(node, c)) return false;
    const std::size_t quorum = tally_.quorum();
    const bool enough_answers = tally_.yes() + tally_.no() >= quorum;
    const bool can_be_denied = tally_.no() + tally_.pending() >= quorum;
    if (tally_.no() >= quorum) {
        outcome_ = errc::not_held;
    } else if (tally_.is_undecidable()) {
        outcome_ = errc::no_quorum;
    } else if (!enough_answers || can_be_denied) {
        return false;
    }
    complete_ = true;
    return true;
}

}  // namespace redlock::core

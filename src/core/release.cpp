// One round to give a lease back.
// SPDX-License-Identifier: MIT
#include "core/release.hpp"

namespace redlock::core {

bool release::cast(std::size_t node, ballot b) noexcept {
    if (complete_ || !poll_.cast(node, b)) return false;
    const std::size_t quorum = poll_.quorum();
    const bool enough_answers = poll_.yes() + poll_.no() >= quorum;
    const bool can_be_denied = poll_.no() + poll_.pending() >= quorum;
    if (poll_.no() >= quorum) {
        outcome_ = errc::not_held;
    } else if (poll_.crippled()) {
        outcome_ = errc::no_quorum;
    } else if (!enough_answers || can_be_denied) {
        return false;
    }
    complete_ = true;
    return true;
}

}  // namespace redlock::core

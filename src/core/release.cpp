// One round to give a lease back.
// SPDX-License-Identifier: MIT
#include "core/release.hpp"

namespace redlock::core {

bool release::cast(std::size_t node, ballot b) noexcept {
    if (complete_ || !poll_.cast(node, b)) return false;
    const std::size_t answers = poll_.yes() + poll_.no();
    if (answers >= poll_.quorum()) {
        complete_ = true;
        if (poll_.no() >= poll_.quorum()) outcome_ = errc::not_held;
    } else if (poll_.crippled()) {
        complete_ = true;
        outcome_ = errc::no_quorum;
    }
    return complete_;
}

}  // namespace redlock::core

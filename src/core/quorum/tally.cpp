// The count of one round.
// SPDX-License-Identifier: MIT
#include "core/quorum/tally.hpp"

namespace redlock::core {

bool tally::cast(std::size_t node, choice c) noexcept {
    if (node >= nodes_ || c == choice::pending || cast_[node] != choice::pending) return false;
    cast_[node] = c;
    switch (c) {
        case choice::yes: ++yes_; break;
        case choice::no: ++no_; break;
        case choice::unable: ++unable_; break;
        case choice::pending: break;
    }
    return true;
}

}  // namespace redlock::core

// The count of one round.
// SPDX-License-Identifier: MIT
#include "core/poll.hpp"

namespace redlock::core {

bool poll::cast(std::size_t node, ballot b) noexcept {
    if (node >= nodes_ || b == ballot::pending || cast_[node] != ballot::pending) return false;
    cast_[node] = b;
    switch (b) {
        case ballot::yes: ++yes_; break;
        case ballot::no: ++no_; break;
        case ballot::unable: ++unable_; break;
        case ballot::pending: break;
    }
    return true;
}

}  // namespace redlock::core

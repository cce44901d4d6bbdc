// The count of one round.
// SPDX-License-Identifier: MIT
#include "core/quorum/tally.hpp"

namespace redlock::core {

void tally::note(count& to, choice c) noexcept {
    switch (c) {
        case choice::yes: ++to.yes; break;
        case choice::no: ++to.no; break;
        case choice::stale: ++to.stale; break;
        case choice::unable: ++to.unable; break;
        case choice::pending: return;
    }
    --to.pending;
}

bool tally::cast(std::size_t node, choice c) noexcept {
    if (node >= max_nodes || !lists_.all().contains(node)) return false;
    if (c == choice::pending || cast_[node] != choice::pending) return false;
    cast_[node] = c;
    if (lists_.old().contains(node)) note(counts_[0], c);
    if (lists_.is_joint() && lists_.after().contains(node)) note(counts_[1], c);
    return true;
}

}  // namespace redlock::core

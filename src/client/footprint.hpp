// What an attempt, or the lease it became, may have left on the nodes; sends nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/node_mask.hpp"

#include <redlock/detail/recycling.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace redlock::detail {

/// A place in the queues of some nodes.
struct place_in_queue {
    std::string id;
    std::uint64_t ticket = 0;
    node_mask nodes = 0;  ///< Where an entry may be.
};

/// Long enough to allocate, and made anew for each lock.
using recycled_string = std::basic_string<char, std::char_traits<char>, recycling_memory<char>>;

struct footprint {
    recycled_string key;
    recycled_string value;
    std::uint64_t born = 0;           ///< `node_tracker::breaks()` before anything of it was sent.
    node_mask nodes = 0;              ///< To which a command that could take the key was handed.
    std::uint64_t highest_fence = 0;  ///< That was proposed for it; 0: none.
    place_in_queue place{};            ///< Of the waiter that it is of.

    void note_sent(node_mask to, std::uint64_t fence) noexcept {
        nodes |= to;
        highest_fence = std::max(highest_fence, fence);
    }
};

}  // namespace redlock::detail

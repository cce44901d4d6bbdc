// What was sent of an attempt, or of the lease that it became; knows no key and no connection.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/node_mask.hpp"

#include <algorithm>
#include <cstdint>

namespace redlock::core {

struct traces {
    std::uint64_t born = 0;           ///< `disruptions::so_far` before anything of it was sent.
    node_mask nodes{};                ///< That a command which takes keys went to.
    std::uint64_t highest_fence = 0;  ///< That was proposed for it, extensions included; 0: none.
    bool began_elsewhere = false;     ///< Another process sent commands of it, on its connections.

    void note_sent(node_mask to, std::uint64_t fence) noexcept {
        nodes |= to;
        highest_fence = std::max(highest_fence, fence);
    }
};

}  // namespace redlock::core

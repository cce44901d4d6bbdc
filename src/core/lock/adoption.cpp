// What a lease that another process acquired may have left on the nodes.
// SPDX-License-Identifier: MIT
#include "core/lock/adoption.hpp"

#include <algorithm>
#include <chrono>

namespace redlock::core {

namespace {

// Less than zero where it is over for so long.
duration left_of_stay(const adopted_lease& what) noexcept {
    if (what.fence == 0 || !what.node_time_us) return what.stay;
    const std::chrono::microseconds age(*what.node_time_us - static_cast<std::int64_t>(what.fence));
    return what.stay - std::max<duration>(age, duration::zero());
}

}  // namespace

traces traces_of_adopted(const adopted_lease& what, std::uint64_t born, node_mask all,
                         time_point now) noexcept {
    const bool stays = what.stay > duration::zero();
    traces left{.born = born,
                .began_elsewhere = true,
                .keep_until = now + left_of_stay(what),
                .keep_error = stays ? 2 * what.clock_tolerance : duration::zero(),
                .is_known_elsewhere = true};
    left.note_sent(all, what.is_plausible ? what.fence : 0);
    return left;
}

}  // namespace redlock::core

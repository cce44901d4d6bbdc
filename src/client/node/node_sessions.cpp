// The sessions of all nodes as one.
// SPDX-License-Identifier: MIT
#include "client/node/node_sessions.hpp"

#include <algorithm>
#include <array>
#include <cassert>

namespace redlock::detail {

node_sessions::fan_out node_sessions::send(call& what, std::uint32_t round,
                                           const wire::request& text, time_point now,
                                           node_mask mask) const {
    fan_out result;
    for (const std::size_t i : mask) {
        if (auto why = sessions_[i]->submit(call_ptr(&what), round, text, now)) {
            result.failures.emplace_back(i, std::move(*why));
        } else {
            result.sent.insert(i);
        }
    }
    return result;
}

template <class F>
duration node_sessions::nth_shortest(std::size_t nodes, F&& time_of) const noexcept {
    assert(nodes > 0 && nodes <= sessions_.size());
    std::array<duration, max_nodes> each{};
    const auto end = std::transform(sessions_.begin(), sessions_.end(), each.begin(), time_of);
    const auto nth = each.begin() + static_cast<std::ptrdiff_t>(nodes - 1);
    std::nth_element(each.begin(), nth, end);
    return *nth;
}

duration node_sessions::time_for(std::size_t nodes, duration ttl) const noexcept {
    return nth_shortest(nodes, [ttl](const auto& s) { return s->node_timeout(ttl); });
}

duration node_sessions::shortest_time_for(std::size_t nodes) const noexcept {
    return nth_shortest(nodes, [](const auto& s) { return s->shortest_timeout(); });
}

}  // namespace redlock::detail

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

namespace {

template <class Sessions, class F>
std::array<duration, max_nodes> of_each(const Sessions& sessions, F&& time_of) noexcept {
    std::array<duration, max_nodes> each{};
    std::transform(sessions.begin(), sessions.end(), each.begin(), time_of);
    return each;
}

}  // namespace

duration node_sessions::time_for_all(duration ttl) const noexcept {
    const auto each = of_each(sessions_, [ttl](const auto& s) { return s->node_timeout(ttl); });
    return *std::max_element(each.begin(), each.end());
}

duration node_sessions::time_for_quorum(const node_lists& lists) const noexcept {
    return lists.quorum_th(
        of_each(sessions_, [](const auto& s) { return s->node_timeout(core::any_ttl); }));
}

duration node_sessions::shortest_time_for_quorum(const node_lists& lists) const noexcept {
    return lists.quorum_th(of_each(sessions_, [](const auto& s) { return s->shortest_timeout(); }));
}

}  // namespace redlock::detail

// What the nodes' keys together say about a resource.
// SPDX-License-Identifier: MIT
#include "core/quorum/read_quorum.hpp"

#include "value/quorum.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <string_view>
#include <vector>

namespace redlock::core {

namespace {

bool is_taken(const node_state& n) {
    return n.state == key_state::held || n.state == key_state::shared || n.state == key_state::kept;
}

bool has_answered(const node_state& n) { return n.state == key_state::free || is_taken(n); }

constexpr auto no_expiry = std::chrono::milliseconds(-1);
constexpr auto forever = std::chrono::milliseconds::max();

// A key without expiry (-1 ms) blocks its resource without end.
std::chrono::milliseconds time_left(const node_state& n) {
    return n.ttl < std::chrono::milliseconds(0) ? forever : n.ttl;
}

}  // namespace

void read_quorum(resource_state& state, std::span<const std::string> values) {
    const auto& nodes = state.nodes;
    state.quorum = quorum(nodes.size());
    const auto answers = std::count_if(nodes.begin(), nodes.end(), has_answered);
    state.decided = static_cast<std::size_t>(answers) >= state.quorum;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!is_taken(nodes[i])) continue;
        std::vector<std::chrono::milliseconds> left;
        for (std::size_t j = 0; j < nodes.size(); ++j) {
            if (nodes[j].state == nodes[i].state && values[j] == values[i]) {
                left.push_back(time_left(nodes[j]));
            }
        }
        if (left.size() < state.quorum || state.held || state.kept) continue;
        const auto nth = left.begin() + static_cast<std::ptrdiff_t>(state.quorum - 1);
        std::nth_element(left.begin(), nth, left.end(), std::greater<>());
        state.kept = nodes[i].state == key_state::kept;
        state.held = !state.kept;
        state.owner = nodes[i].owner;
        state.valid_for = *nth == forever ? no_expiry : *nth;
        for (std::size_t j = 0; j < nodes.size(); ++j) {
            const bool is_winners = nodes[j].state == nodes[i].state && values[j] == values[i];
            if (!is_winners || nodes[j].fence == 0) continue;
            // Of readers each has its own, and a node keeps the highest.
            const bool takes_higher = state.fence == 0 || nodes[i].state == key_state::shared;
            state.fence = takes_higher ? std::max(state.fence, nodes[j].fence)
                                       : std::min(state.fence, nodes[j].fence);
        }
    }
    if (state.held || state.kept) return;
    for (const node_state& n : nodes) state.fence = std::max(state.fence, n.fence);
}

bool is_conclusive(const resource_state& state, std::span<const std::string> values) {
    const auto& nodes = state.nodes;
    const auto answers =
        static_cast<std::size_t>(std::count_if(nodes.begin(), nodes.end(), has_answered));
    const std::size_t silent = nodes.size() - answers;
    if (answers < state.quorum) return false;
    std::map<std::string_view, std::size_t> readers;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!is_taken(nodes[i])) continue;
        std::size_t same = 0;
        for (std::size_t j = 0; j < nodes.size(); ++j) {
            if (nodes[j].state == nodes[i].state && values[j] == values[i]) ++same;
        }
        const bool is_open = same < state.quorum && same + silent >= state.quorum;
        if (is_open && !state.held && !state.kept) return false;
        if (nodes[i].state != key_state::shared) continue;
        for (const std::string& reader : nodes[i].readers) ++readers[reader];
    }
    return std::none_of(readers.begin(), readers.end(), [&](const auto& reader) {
        return reader.second < state.quorum && reader.second + silent >= state.quorum;
    });
}

}  // namespace redlock::core

// The count of one round.
// SPDX-License-Identifier: MIT
#include "core/quorum.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>

namespace redlock::core {

void tally::note(count& to, choice c) noexcept {
    assert(to.pending > 0 && c != choice::pending);
    switch (c) {
        case choice::yes: ++to.yes; break;
        case choice::no: ++to.no; break;
        case choice::stale: ++to.stale; break;
        case choice::unable: ++to.unable; break;
        case choice::pending: return;
    }
    --to.pending;
    assert(to.yes + to.no + to.stale + to.unable + to.pending == to.nodes);
}

bool tally::cast(std::size_t node, choice c) noexcept {
    if (node >= max_nodes || !lists_.all().contains(node)) return false;
    if (c == choice::pending || cast_[node] != choice::pending) return false;
    cast_[node] = c;
    if (lists_.old().contains(node)) note(counts_[0], c);
    if (lists_.is_joint() && lists_.after().contains(node)) note(counts_[1], c);
    return true;
}

namespace {

bool is_taken(const node_state& n) {
    return n.state == key_state::held || n.state == key_state::shared || n.state == key_state::kept;
}

constexpr auto no_expiry = std::chrono::milliseconds(-1);
constexpr auto forever = std::chrono::milliseconds::max();

// A key without expiry (-1 ms) blocks its resource without end.
std::chrono::milliseconds time_left(const node_state& n) {
    return n.ttl < std::chrono::milliseconds(0) ? forever : n.ttl;
}

// The nodes that have what node `i` has.
node_mask like(std::size_t i, const resource_state& state, std::span<const std::string> values) {
    assert(i < state.nodes.size());
    return node_mask::where(state.nodes.size(), [&](std::size_t j) {
        return state.nodes[j].state == state.nodes[i].state && values[j] == values[i];
    });
}

node_mask answered(const resource_state& state) {
    const auto has = [&](std::size_t i) { return has_answered(state.nodes[i]); };
    return node_mask::where(state.nodes.size(), has);
}

// So long a quorum of `nodes` keeps the key.
std::chrono::milliseconds quorum_keeps(node_mask nodes, const resource_state& state,
                                       const node_lists& lists) {
    std::array<std::chrono::milliseconds, max_nodes> left{};
    for (const std::size_t i : nodes) left[i] = time_left(state.nodes[i]);
    return lists.quorum_th(left, std::greater<>());
}

}  // namespace

bool has_answered(const node_state& n) noexcept {
    return n.state == key_state::free || is_taken(n);
}

void read_quorum(resource_state& state, std::span<const std::string> values,
                 const node_lists& lists) {
    const auto& nodes = state.nodes;
    assert(values.size() == nodes.size() && lists.size() == nodes.size());
    state.quorum = quorum(lists.old().size());
    state.quorum_after = lists.is_joint() ? quorum(lists.after().size()) : 0;
    state.decided = lists.is_quorum(answered(state));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!is_taken(nodes[i])) continue;
        const node_mask same = like(i, state, values);
        if (!lists.is_quorum(same) || state.held || state.kept) continue;
        const auto left = quorum_keeps(same, state, lists);
        state.kept = nodes[i].state == key_state::kept;
        state.held = !state.kept;
        state.owner = nodes[i].owner;
        state.note = nodes[i].note;
        state.valid_for = left == forever ? no_expiry : left;
        for (const std::size_t j : same) {
            if (nodes[j].fence == 0) continue;
            // Of readers each has its own, and a node keeps the highest.
            const bool takes_higher = state.fence == 0 || nodes[i].state == key_state::shared;
            state.fence = takes_higher ? std::max(state.fence, nodes[j].fence)
                                       : std::min(state.fence, nodes[j].fence);
        }
    }
    if (state.held || state.kept) return;
    for (const node_state& n : nodes) state.fence = std::max(state.fence, n.fence);
}

bool is_conclusive(const resource_state& state, std::span<const std::string> values,
                   const node_lists& lists) {
    const auto& nodes = state.nodes;
    assert(values.size() == nodes.size() && lists.size() == nodes.size());
    const node_mask answers = answered(state);
    const node_mask silent = lists.all() - answers;
    const auto is_open = [&](node_mask same) {
        return !lists.is_quorum(same) && lists.is_quorum(same | silent);
    };
    if (!lists.is_quorum(answers)) return false;
    std::map<std::string_view, node_mask> readers;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!is_taken(nodes[i])) continue;
        if (is_open(like(i, state, values)) && !state.held && !state.kept) return false;
        if (nodes[i].state != key_state::shared) continue;
        for (const std::string& reader : nodes[i].readers) readers[reader].insert(i);
    }
    return std::ranges::none_of(readers, [&](const auto& one) { return is_open(one.second); });
}

}  // namespace redlock::core

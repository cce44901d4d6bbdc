// What the nodes say of the slots of one resource.
// SPDX-License-Identifier: MIT
#include "client/operation/slot_survey.hpp"

#include "core/quorum/read_quorum.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace redlock::detail {

void slot_survey::named(const wire::slots_answer& by_a_node) {
    open_.insert(by_a_node.taken.begin(), by_a_node.taken.end());
    if (by_a_node.count == 0) return;
    count_ = count_ == 0 ? by_a_node.count : std::min(count_, by_a_node.count);
}

std::vector<std::uint16_t> slot_survey::next() {
    assert(nodes_.size() > 0);
    std::vector<std::uint16_t> out;
    looks_.clear();
    while (!open_.empty() && out.size() < most_at_once) {
        out.push_back(*open_.begin());
        open_.erase(open_.begin());
        look& made = looks_.emplace_back();
        made.slot = out.back();
        made.state.nodes.resize(nodes_.size());
        made.values.resize(nodes_.size());
    }
    return out;
}

void slot_survey::answered(std::size_t node, std::size_t i, key_question what,
                           const resp::reply& reply) {
    assert(i < looks_.size() && nodes_.all().contains(node));
    look& at = looks_[i];
    note_answer(at.state.nodes.at(node), at.values.at(node), what, reply);
}

void slot_survey::close() {
    for (look& each : looks_) {
        core::read_quorum(each.state, each.values, nodes_);
        is_conclusive_ = is_conclusive_ && core::is_conclusive(each.state, each.values, nodes_);
        if (!each.state.held && !each.state.kept) continue;
        slot_state out;
        out.number = each.slot;
        out.owner = std::move(each.state.owner);
        out.fence = each.state.fence;
        out.valid_for = each.state.valid_for;
        out.kept = each.state.kept;
        const auto& nodes = each.state.nodes;
        const auto names_it = std::find_if(nodes.begin(), nodes.end(), [&](const node_state& n) {
            return n.owner == out.owner && (n.state == key_state::kept) == out.kept;
        });
        values_.push_back(each.values.at(static_cast<std::size_t>(names_it - nodes.begin())));
        held_.push_back(std::move(out));
    }
    looks_.clear();
}

}  // namespace redlock::detail

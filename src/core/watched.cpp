// When the nodes are looked at for resources that are watched, and which of these are inspected.
// SPDX-License-Identifier: MIT
#include "core/watched.hpp"

#include <cassert>

namespace redlock::core {

namespace {

using std::chrono::microseconds;

constexpr duration least_pause = std::chrono::milliseconds(125);
constexpr duration quiet_pause = std::chrono::milliseconds(250);
constexpr int pauses_per_quiet = 50;
// A look at one resource takes a node about three microseconds.
constexpr duration pause_for_each = microseconds(80);

}  // namespace

duration until_next_look(std::size_t resources, duration quiet, std::uint64_t random) noexcept {
    assert(resources > 0 && quiet >= duration::zero());
    const auto count = static_cast<std::int64_t>(resources);
    const duration pause =
        std::max<duration>(std::clamp(quiet / pauses_per_quiet, least_pause, quiet_pause),
                           count * pause_for_each);
    const auto spread = static_cast<std::uint64_t>((pause / 2).count());
    return pause - pause / 4 + duration(static_cast<std::int64_t>(random % spread));
}

node_mask worth_inspecting(const node_lists& nodes, node_mask silent) noexcept {
    return nodes.prevents_quorum(silent) ? nodes.all() : nodes.all() - silent;
}

void watched::showed(std::size_t node, std::uint64_t digest, std::uint64_t look) noexcept {
    assert(node < max_nodes);
    const bool is_same = known_.contains(node) && digests_[node] == digest;
    known_.insert(node);
    digests_[node] = digest;
    if (!is_same && look > covered_) is_due_ = true;
}

void watched::inspection_begins(std::uint64_t look, time_point now) noexcept {
    assert(wants_inspection() && look >= covered_);
    is_due_ = false;
    is_inspected_ = true;
    inspected_at_ = now;
    again_at_ = time_point::max();
    covered_ = look;
}

void watched::inspection_ends(bool is_conclusive) noexcept {
    assert(is_inspected_);
    is_inspected_ = false;
    if (!is_conclusive) again_at_ = std::min(again_at_, inspected_at_ + until_again);
}

}  // namespace redlock::core

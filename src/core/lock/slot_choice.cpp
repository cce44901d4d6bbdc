// Choosing a slot.
// SPDX-License-Identifier: MIT
#include "core/lock/slot_choice.hpp"

#include <algorithm>
#include <utility>

namespace redlock::core {

bool slot_choice::may_be_free(node_mask taken) const noexcept {
    return !nodes_.prevents_quorum(taken);
}

std::vector<std::uint16_t> slot_choice::least_taken() const {
    std::vector<std::uint16_t> out;
    std::size_t least = max_nodes + 1;
    for (const node_mask taken : taken_) {
        if (may_be_free(taken)) least = std::min(least, taken.size());
    }
    for (std::size_t i = 0; i < taken_.size(); ++i) {
        const bool is_best = taken_[i].size() == least && may_be_free(taken_[i]);
        if (is_best) out.push_back(static_cast<std::uint16_t>(i));
    }
    return out;
}

std::uint16_t slot_choice::draw(std::uint64_t random, std::optional<std::uint16_t> freed) {
    ++in_a_row_;
    const auto best = least_taken();
    taken_.clear();
    const auto suggested = std::exchange(suggested_, std::nullopt);
    if (freed && *freed < slots_) return *freed;
    if (!best.empty()) return best[random % best.size()];
    if (suggested) return *suggested;
    return static_cast<std::uint16_t>(random % counted());
}

void slot_choice::refused(std::size_t node, std::string_view free, std::uint16_t slots) {
    if (slots != 0) counted_ = std::min(counted(), slots);
    taken_.resize(slots_);
    for (std::size_t i = 0; i < slots_; ++i) {
        const std::size_t byte = i / 8;
        const bool is_free = i < slots && byte < free.size() &&
                             (static_cast<unsigned char>(free[byte]) >> (i % 8) & 1U) != 0;
        if (!is_free) taken_[i].insert(node);
    }
}

bool slot_choice::is_another_free() const noexcept {
    return in_a_row_ < most_in_a_row &&
           std::any_of(taken_.begin(), taken_.end(),
                       [this](node_mask taken) { return may_be_free(taken); });
}

}  // namespace redlock::core

// Which of the several keys that a waiter wants each node keeps from it; knows no queue.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/node_mask.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace redlock::core {

/// A node wakes a waiter for each key by itself. The waiter has to try only when that node would let
/// it have all of them. As in `retry`, a wake-up that comes while an answer is outstanding is newer
/// than that answer.
class blocked_keys {
public:
    /// Bit i: the i-th key can't be taken, and the node will wake the waiter when it can.
    using keys = std::uint64_t;
    static constexpr std::size_t most = 64;

    explicit blocked_keys(std::size_t count) noexcept
        : all_(count < most ? (keys(1) << count) - 1 : ~keys(0)) {}

    /// A query goes out to these nodes.
    void queried(node_mask nodes) noexcept {
        for (const std::size_t node : nodes) freed_[node] = 0;
    }
    /// The node named these keys as blocked. Returns whether all of them were freed meanwhile: the
    /// waiter may have all its keys.
    bool answered(std::size_t node, keys blocked) noexcept {
        blocked_[node] = blocked & all_ & ~freed_[node];
        return (blocked & all_) != 0 && blocked_[node] == 0;
    }
    /// The node says that the waiter may have that key. Returns whether it may have all of them.
    bool woken(std::size_t node, std::size_t key) noexcept {
        const keys one = keys(1) << key;
        freed_[node] |= one;
        blocked_[node] &= ~one;
        return blocked_[node] == 0;
    }

private:
    keys all_;
    std::array<keys, max_nodes> blocked_{};
    std::array<keys, max_nodes> freed_{};  // since it was queried last
};

}  // namespace redlock::core

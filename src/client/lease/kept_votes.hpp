// The votes of an acquire for as long as its lease lives, in little memory; knows no node.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/detail/recycling.hpp>
#include <redlock/vote.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace redlock::detail {

/// One for each node.
using cast_votes = std::vector<node_vote, recycling_memory<node_vote>>;

/// Most leases are granted by votes that have nothing to tell but the node, the fence and the time,
/// and few programs look at them. So these are kept as that, and are made whole at the first look.
class kept_votes {
public:
    explicit kept_votes(cast_votes cast);
    ~kept_votes() { delete whole_.load(std::memory_order_acquire); }
    kept_votes(const kept_votes&) = delete;
    kept_votes& operator=(const kept_votes&) = delete;

    /// As they were cast; for as long as this lives. From any thread.
    std::span<const node_vote> all() const;

private:
    struct brief {
        node_name node;
        std::uint64_t fence;
        std::uint32_t elapsed_us;
        vote answer;
        list_change change;
    };
    struct whole_votes : recycled {
        cast_votes votes{};
    };
    static bool is_brief(const node_vote& v) noexcept;

    std::vector<brief, recycling_memory<brief>> brief_{};  // of all, or of none
    mutable std::atomic<const whole_votes*> whole_{nullptr};
};

}  // namespace redlock::detail

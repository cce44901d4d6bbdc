// The votes of an acquire for as long as its lease lives.
// SPDX-License-Identifier: MIT
#include "client/lease/kept_votes.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace redlock::detail {

kept_votes::kept_votes(cast_votes cast) {
    if (!std::all_of(cast.begin(), cast.end(), is_brief)) {
        auto whole = std::make_unique<whole_votes>();
        whole->votes = std::move(cast);
        whole_.store(whole.release(), std::memory_order_release);
        return;
    }
    brief_.reserve(cast.size());
    for (node_vote& v : cast) {
        brief_.push_back({std::move(v.node), v.fence,
                          static_cast<std::uint32_t>(v.elapsed.count()), v.answer, v.change});
    }
}

bool kept_votes::is_brief(const node_vote& v) noexcept {
    constexpr std::chrono::microseconds longest(std::numeric_limits<std::uint32_t>::max());
    return !v.error && v.detail.empty() && v.resource.empty() && v.note.empty() &&
           v.retry_in.count() == 0 && v.held_for.count() == 0 && v.elapsed.count() >= 0 &&
           v.elapsed <= longest;
}

std::span<const node_vote> kept_votes::all() const {
    if (const auto* const made = whole_.load(std::memory_order_acquire)) return made->votes;
    auto mine = std::make_unique<whole_votes>();
    mine->votes.reserve(brief_.size());
    for (const brief& b : brief_) {
        mine->votes.push_back({.node = b.node,
                               .answer = b.answer,
                               .elapsed = std::chrono::microseconds(b.elapsed_us),
                               .fence = b.fence,
                               .change = b.change});
    }
    const whole_votes* before = nullptr;
    if (!whole_.compare_exchange_strong(before, mine.get(), std::memory_order_acq_rel)) {
        return before->votes;  // another thread was faster
    }
    return mine.release()->votes;
}

}  // namespace redlock::detail

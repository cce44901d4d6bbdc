// Which waiters sleep, and when the nodes are queried for which of them.
// SPDX-License-Identifier: MIT
#include "core/wait/sleepers.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace redlock::core {

void sleepers::add(sleeper& waiter, std::size_t keys, time_point sent) noexcept {
    assert(!waiter.is_asleep() && keys > 0);
    waiter.queried_at_ = sent;
    waiter.keys_ = keys;
    asleep_.push_back(waiter);
    keys_ += keys;
}

void sleepers::remove(sleeper& waiter) noexcept {
    if (!waiter.is_asleep()) return;
    assert(keys_ >= waiter.keys_);
    asleep_.erase(asleep_.iterator_to(waiter));
    keys_ -= waiter.keys_;
}

void sleepers::clear() noexcept {
    asleep_.clear();
    keys_ = 0;
}

node_mask sleepers::unqueried(node_mask listening, node_mask queried,
                              time_point sent) const noexcept {
    node_mask out = listening - queried;
    for (const std::size_t node : listening) {
        if (listening_since_[node] > sent) out.insert(node);
    }
    return out;
}

duration sleepers::entry_life(duration longest) const noexcept {
    // Those that want several keys fill a batch to a half at least.
    const std::size_t full = (keys_ + most_at_once - 1) / most_at_once;
    const bool are_single = keys_ == asleep_.size();
    const std::size_t batches = are_single ? full : std::min(asleep_.size(), 2 * full);
    return std::clamp(3 * static_cast<duration::rep>(batches) * between_batches, shortest_life,
                      longest);
}

time_point sleepers::next_query(time_point now, std::uint64_t random) const noexcept {
    const auto spread = static_cast<std::uint64_t>(jitter.count()) + 1;
    const duration period = refresh + duration(static_cast<duration::rep>(random % spread));
    time_point when = now + period;
    if (!asleep_.empty()) {
        const sleeper& first = asleep_.front();
        when = is_hurried(first) ? now : first.queried_at_ + period;
    }
    return std::max(when, now + between_batches);
}

sleepers::list::iterator sleepers::end_of_due(time_point now) noexcept {
    auto last = asleep_.begin();
    for (std::size_t keys = 0; last != asleep_.end(); ++last) {
        if (!is_hurried(*last) && last->queried_at_ > now - refresh / 2) break;
        keys += last->keys_;
        if (keys > most_at_once) break;
    }
    return last;
}

bool sleepers::open(time_point now) noexcept {
    last_needed_ = now;
    return !std::exchange(is_open_, true);
}

bool sleepers::close_if_idle(time_point now) noexcept {
    if (!asleep_.empty()) last_needed_ = now;
    if (now - last_needed_ < patience) return false;
    is_open_ = false;
    return true;
}

bool sleepers::listens(std::size_t node, time_point now) noexcept {
    assert(node < listening_since_.size());
    listening_since_[node] = now;
    if (keys_ <= most_at_once) return true;
    hurried_at_ = now;
    return false;
}

}  // namespace redlock::core

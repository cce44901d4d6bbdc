// The nodes' wall clocks against each other and against ours.
// SPDX-License-Identifier: MIT
#include "core/node_clocks.hpp"

#include <algorithm>
#include <chrono>

namespace redlock::core {

using std::chrono::microseconds;

namespace {

std::int64_t us(duration d) noexcept { return std::chrono::floor<microseconds>(d).count(); }

std::int64_t us(time_point t) noexcept { return us(t.time_since_epoch()); }

}  // namespace

duration node_clocks::read(std::size_t node, const clock_reading& r) {
    offset fresh{r.time_us - us(r.received) - 1, r.time_us - us(r.sent) + 1, r.sent};
    std::int64_t jump_us = 0;
    if (const auto& old = offsets_[node]) {
        const std::int64_t allowed = us(drift_.allowance(r.received - old->since)) + 1;
        const std::int64_t low_us = old->low_us - allowed;
        const std::int64_t high_us = old->high_us + allowed;
        jump_us = std::max<std::int64_t>(fresh.low_us - high_us, 0) +
                  std::min<std::int64_t>(fresh.high_us - low_us, 0);
        // Where a reading took long, the one before it still tells more.
        if (jump_us == 0) {
            fresh.low_us = std::max(fresh.low_us, low_us);
            fresh.high_us = std::min(fresh.high_us, high_us);
        }
    }
    offsets_[node] = fresh;
    std::vector<std::int64_t> known;
    for (const auto& o : offsets_) {
        if (o) known.push_back(o->middle_us());
    }
    std::sort(known.begin(), known.end());
    const std::size_t half = known.size() / 2;
    // Of two that differ nobody can tell which is right: the middle is far from both.
    median_us_ = known.size() % 2 == 1 ? known[half]
                                       : known[half - 1] + (known[half] - known[half - 1]) / 2;
    return microseconds(jump_us);
}

std::optional<std::int64_t> node_clocks::now_us(time_point now) const noexcept {
    if (!median_us_) return std::nullopt;
    return us(now) + *median_us_;
}

std::optional<duration> node_clocks::skew(std::size_t node) const noexcept {
    if (!offsets_[node]) return std::nullopt;
    return microseconds(offsets_[node]->middle_us() - *median_us_);
}

std::optional<std::int64_t> node_clocks::ahead_us(std::size_t node) const noexcept {
    if (!offsets_[node]) return std::nullopt;
    return offsets_[node]->high_us;
}

bool node_clocks::is_skewed(std::size_t node) const noexcept {
    const auto by = skew(node);
    return by && (*by > tolerance_ || *by < -tolerance_);
}

}  // namespace redlock::core

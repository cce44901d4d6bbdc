// When a refused acquire tries again.
// SPDX-License-Identifier: MIT
#include "core/wait.hpp"

#include <algorithm>

namespace redlock::core {

using namespace std::chrono_literals;

namespace {

// Full jitter over a window that doubles: contenders that split the vote once seldom do so twice.
duration back_off(std::uint32_t tries, std::uint64_t random) noexcept {
    constexpr duration shortest = 5ms;
    constexpr duration longest = 100ms;
    const duration window = std::min(shortest * (2U << std::min(tries, 5U)), longest);
    const auto spread = static_cast<std::uint64_t>((window - shortest).count()) + 1;
    return shortest + duration(static_cast<duration::rep>(random % spread));
}

}  // namespace

std::optional<time_point> wait::refused(error_code why, std::size_t nodes,
                                        std::span<duration> expiries, time_point now,
                                        std::uint64_t random) noexcept {
    if (!(why == condition::retryable)) return std::nullopt;
    duration sleep = back_off(tries_, random);
    ++tries_;
    // When `needed` of the keys in the way have run out, the rest of the nodes make a quorum.
    const std::size_t in_the_way = expiries.size();
    const std::size_t others = nodes - std::min(nodes, in_the_way);
    if (others < quorum(nodes) && in_the_way > 0) {
        const std::size_t needed = std::min(quorum(nodes) - others, in_the_way);
        const auto nth = expiries.begin() + static_cast<std::ptrdiff_t>(needed - 1);
        std::nth_element(expiries.begin(), nth, expiries.end());
        sleep = std::min(sleep, std::max<duration>(*nth, 1ms));
    }
    // Near the end the steps halve, so that the last try comes just before the deadline.
    if (now + sleep >= deadline_) {
        sleep = (deadline_ - now) / 2;
        if (sleep < 5ms) return std::nullopt;
    }
    return now + sleep;
}

}  // namespace redlock::core

// When a waiter tries again.
// SPDX-License-Identifier: MIT
#include "core/wait.hpp"

#include <algorithm>

namespace redlock::core {

using namespace std::chrono_literals;

static_assert(max_nodes <= 32);

namespace {

// Time enough for one round trip, and less than anybody would miss.
constexpr duration before_the_end = 10ms;

// Full jitter over a window that doubles: contenders that split the vote once seldom do so twice. A
// crowd that rests tries some 5,000 times a second, all taken together.
duration back_off(std::uint32_t rests, std::uint64_t random, std::size_t crowd) noexcept {
    constexpr duration shortest = 5ms;
    constexpr duration longest = 100ms;
    constexpr duration for_each = 400us;
    const duration window = std::max(std::min(shortest * (2U << std::min(rests, 5U)), longest),
                                     for_each * static_cast<duration::rep>(crowd));
    const auto spread = static_cast<std::uint64_t>((window - shortest).count()) + 1;
    return shortest + duration(static_cast<duration::rep>(random % spread));
}

}  // namespace

time_point free_at(duration left, duration before, time_point now) noexcept {
    time_point when{};
    if (left < 0ms) return time_point::max();
    // A key in its last ms is still there.
    if (left > 0ms) when = now + left + 1ms;
    if (before > 0ms) when = std::max(when, now + before);
    return when;
}

void wait::tried(time_point now) noexcept {
    woken_ = 0;
    tried_at_ = now;
    free_at_.fill({});
}

void wait::told(std::size_t node, time_point free_at) noexcept {
    if ((woken_ >> node & 1U) == 0) free_at_[node] = free_at;
}

void wait::woken(std::size_t node, time_point now) noexcept {
    woken_ |= std::uint32_t{1} << node;
    free_at_[node] = now;
    rest_until_ = std::min(rest_until_, now);
}

bool wait::refused(error_code why, time_point now, std::uint64_t random,
                   std::size_t others) noexcept {
    if (!(why == condition::retryable)) return false;
    rest_until_ = now;
    if (free_for_a_quorum() > now) {
        rests_ = 0;
    } else if (woken_ == 0) {
        rest_until_ += back_off(rests_++, random, others);
    }
    return true;
}

time_point wait::next() const noexcept {
    const time_point last_try = deadline_ - before_the_end;
    time_point when = std::max(rest_until_, free_for_a_quorum());
    if (tried_at_ < last_try) when = std::min(when, last_try);
    return std::min(when, deadline_);
}

time_point wait::free_for_a_quorum() const noexcept {
    auto sorted = free_at_;
    const auto nth = sorted.begin() + static_cast<std::ptrdiff_t>(quorum(nodes_) - 1);
    std::nth_element(sorted.begin(), nth, sorted.begin() + static_cast<std::ptrdiff_t>(nodes_));
    return *nth;
}

}  // namespace redlock::core

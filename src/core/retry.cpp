// When an acquire tries again, and for which of its keys a waiter waits.
// SPDX-License-Identifier: MIT
#include "core/retry.hpp"

#include <algorithm>
#include <utility>

namespace redlock::core {

using namespace std::chrono_literals;

namespace {

// Time enough for one round trip, and less than anybody would miss.
constexpr duration before_the_end = 10ms;

// A crowd that rests tries some 5,000 times a second, all taken together.
constexpr duration for_each = 400us;

// Full jitter over a window that doubles: contenders that split the vote once seldom do so twice.
duration back_off(std::uint32_t rests, std::uint64_t random, std::size_t crowd) noexcept {
    constexpr duration shortest = 5ms;
    constexpr duration longest = 100ms;
    const duration window = std::max(std::min(shortest * (2U << std::min(rests, 5U)), longest),
                                     for_each * static_cast<duration::rep>(crowd));
    const auto spread = static_cast<std::uint64_t>((window - shortest).count()) + 1;
    return shortest + duration(static_cast<duration::rep>(random % spread));
}

// An eighth of the time that the holder has been there for: so a lock that changes hands every few
// ms is looked at 400 to 500 times a second, and one that stays for long 20 to 25 times. Beside two
// programs that try every 3 ms, and at once after each turn of theirs, waiters that looked every
// 5 ms had 10 to 35 % of the turns, and every 2 ms a third or more (tests/interop).
duration until_next_look(duration stays, std::uint64_t random, std::size_t crowd) noexcept {
    constexpr duration shortest = 2ms;
    constexpr duration longest = 50ms;
    const duration least = std::clamp(stays / 8, shortest, longest * 4 / 5);
    const duration window = std::max(least / 4, for_each * static_cast<duration::rep>(crowd));
    const auto spread = static_cast<std::uint64_t>(window.count()) + 1;
    return least + duration(static_cast<duration::rep>(random % spread));
}

}  // namespace

outlook look_ahead(duration left, duration before, time_point now) noexcept {
    outlook o;
    if (before > 0ms) o.first_at = now + before;
    // A key in its last ms is still there.
    if (left > 0ms) o.free_at = now + left + 1ms;
    o.free_at = left < 0ms ? time_point::max() : std::max(o.free_at, o.first_at);
    return o;
}

void retry::tried(time_point now) noexcept {
    woken_ = {};
    tried_at_ = now;
    free_at_.fill({});
    first_at_.fill({});
    foreign_ = {};
    voters_ = {};
}

void retry::answered(std::size_t node, const outlook& what, time_point now) noexcept {
    assert(nodes_.all().contains(node));
    if (what.holder != 0 && std::exchange(holders_[node], what.holder) != what.holder) {
        holder_since_ = now;
    }
    if (woken_.contains(node)) return;
    voters_.set(node, what.has_vote);
    if (what.was_listening && free_at_[node] > now && what.free_at <= now) wordless_.insert(node);
    free_at_[node] = what.free_at;
    first_at_[node] = what.first_at;
    foreign_.set(node, what.is_foreign);
}

void retry::woken(std::size_t node, time_point now) noexcept {
    assert(nodes_.all().contains(node));
    woken_.insert(node);
    voters_.insert(node);
    wordless_.erase(node);
    foreign_.erase(node);
    free_at_[node] = now;
    if (may_be_granted(now)) rest_until_ = std::min(rest_until_, now);
}

bool retry::refused(error_code why, time_point now, std::uint64_t random,
                    std::size_t others) noexcept {
    if (!(why == condition::retryable)) return false;
    rest_until_ = now;
    if (free_for_a_quorum() > now) {
        rests_ = 0;
    } else if (const time_point known = nodes_.quorum_th(free_at_); woken_.empty() && known > now) {
        rests_ = 0;
        rest_until_ = std::min(
            std::max(now, tried_at_ + until_next_look(now - holder_since_, random, others)),
            known);
    } else if (woken_.empty() || !may_be_granted(now)) {
        rest_until_ += back_off(rests_++, random, others);
    }
    return true;
}

time_point retry::next() const noexcept {
    const time_point last_try = deadline_ - before_the_end;
    time_point when = std::max(rest_until_, free_for_a_quorum());
    if (tried_at_ < last_try) when = std::min(when, last_try);
    return std::min(when, deadline_);
}

time_point retry::free_for_a_quorum() const noexcept {
    instants at = free_at_;
    for (const std::size_t node : foreign_ | wordless_) {
        at[node] = std::min(at[node], first_at_[node]);
    }
    return nodes_.quorum_th(at);
}

bool retry::may_be_granted(time_point now) const noexcept {
    node_mask free;
    for (const std::size_t node : voters_) free.set(node, free_at_[node] <= now);
    return nodes_.is_quorum(free);
}

bool split_votes::is_quorum_before_us(const node_lists& nodes,
                                      bool counts_unnamed) const noexcept {
    return std::ranges::any_of(before_us_, [&](std::size_t holder) {
        if (holder == 0 || (holder == somebody && !counts_unnamed)) return false;
        node_mask same;
        for (const std::size_t node : nodes.all()) same.set(node, before_us_[node] == holder);
        return nodes.is_quorum(same);
    });
}

std::optional<time_point> split_votes::rest(const node_lists& nodes, duration round_trip,
                                            std::uint64_t random, time_point now) noexcept {
    unnamed_ = is_quorum_before_us(nodes, true) ? unnamed_ + 1 : 0;
    assert(unnamed_ < most_unnamed);
    const duration once = std::max(round_trip, least_round_trip);
    if (rests_ == 0) ends_at_ = now + std::max(shortest_time, most_round_trips * once);
    const duration least = once / 2 * (1U << std::min(rests_++, 16U));
    const auto spread = static_cast<std::uint64_t>((3 * least).count()) + 1;
    const time_point next = now + least + duration(static_cast<duration::rep>(random % spread));
    return next < ends_at_ ? std::optional(next) : std::nullopt;
}

std::chrono::milliseconds term_pauses::after(std::chrono::nanoseconds term,
                                             std::uint64_t random) noexcept {
    assert(next_ >= first && next_ <= longest);
    if (term >= at_once) {
        next_ = first;
        return std::chrono::milliseconds(0);
    }
    const auto pause = std::exchange(next_, std::min(2 * next_, longest));
    const auto jitter = random % (static_cast<std::uint64_t>(pause.count() / 2) + 1);
    return pause - std::chrono::milliseconds(jitter);
}

}  // namespace redlock::core

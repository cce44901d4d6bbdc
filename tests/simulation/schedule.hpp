// What happens when, in virtual time; knows nothing of what happens.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/clock.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace redlock::simulation {

/// When every world begins.
inline constexpr time_point beginning{std::chrono::hours(1)};

/// What is due at the same instant happens in the order in which it was put here.
class schedule {
public:
    using action = std::function<void()>;

    time_point now() const noexcept { return now_; }
    void at(time_point when, action what) {
        due_.push_back({std::max(when, now_), ++count_, std::move(what)});
        std::push_heap(due_.begin(), due_.end(), later);
    }
    void after(duration delay, action what) { at(now_ + delay, std::move(what)); }

    /// One thing happens. False, and time stands still, where nothing is due until `limit`.
    bool turn(time_point limit) {
        if (due_.empty() || due_.front().when > limit) return false;
        std::pop_heap(due_.begin(), due_.end(), later);
        const entry next = std::move(due_.back());
        due_.pop_back();
        count_turn(next.when);
        now_ = next.when;
        next.what();
        return true;
    }
    /// How much has happened in the present second: without end where something goes round.
    std::uint64_t turns_lately() const noexcept { return turns_lately_; }
    void run_until(time_point limit) {
        while (turn(limit)) {
        }
        now_ = std::max(now_, limit);
    }
    /// Nothing that was put here will happen.
    void clear() noexcept { due_.clear(); }

private:
    void count_turn(time_point at) noexcept {
        if (at - counted_from_ >= std::chrono::seconds(1)) {
            counted_from_ = at;
            turns_lately_ = 0;
        }
        ++turns_lately_;
    }

    struct entry {
        time_point when;
        std::uint64_t number;
        action what;
    };
    static bool later(const entry& a, const entry& b) noexcept {
        return a.when != b.when ? a.when > b.when : a.number > b.number;
    }

    std::vector<entry> due_;
    std::uint64_t count_ = 0;
    std::uint64_t turns_lately_ = 0;
    time_point counted_from_ = beginning;
    time_point now_ = beginning;
};

}  // namespace redlock::simulation

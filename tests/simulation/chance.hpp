// Random words from a seed, and what is drawn from them; the same on every machine.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/clock.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace redlock::simulation {

/// The standard's distributions differ from library to library, so none of them is used.
class chance {
public:
    explicit chance(std::uint64_t seed) noexcept : state_(seed) {}
    /// A stream of its own for each part of a world: what one draws does not shift the others, so
    /// that a world with one fault less is otherwise the same.
    chance(std::uint64_t seed, std::uint64_t part, std::uint64_t sub = 0) noexcept
        : state_(chance(chance(seed).word() ^ part).word() ^ sub) {
        word();
    }

    std::uint64_t word() noexcept {  // splitmix64
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }
    /// In [0, 1).
    double share() noexcept { return static_cast<double>(word() >> 11U) * 0x1.0p-53; }
    bool happens(double probability) noexcept { return share() < probability; }
    /// Both ends included.
    std::int64_t between(std::int64_t low, std::int64_t high) noexcept {
        return low + static_cast<std::int64_t>(word() % static_cast<std::uint64_t>(high - low + 1));
    }
    duration between(duration low, duration high) noexcept {
        return duration(between(low.count(), high.count()));
    }
    /// Each order of magnitude is about as likely as the next. Without logarithms, whose last bit
    /// is not the same on every machine.
    duration between_orders(duration low, duration high) noexcept {
        std::int64_t doublings = 0;
        while (low.count() << (doublings + 1) <= high.count()) ++doublings;
        const duration from(low.count() << between(0, doublings));
        return between(from, std::max(from, std::min(2 * from, high)));
    }
    std::size_t below(std::size_t n) noexcept { return static_cast<std::size_t>(word() % n); }
    template <class List>
    auto pick(const List& list) noexcept {
        return *(list.begin() + static_cast<std::ptrdiff_t>(below(list.size())));
    }

private:
    std::uint64_t state_;
};

}  // namespace redlock::simulation

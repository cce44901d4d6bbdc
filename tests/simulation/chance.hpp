// Random words from a seed, and what is drawn from them; the same on every machine.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/clock.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace redlock::simulation {

/// Each part of a world has its own, so that what one draws does not shift the others: a world with one
/// fault less is otherwise the same. A name keeps its number, and with it its seeds. Families may share
/// one: no world is of two.
enum class stream : std::uint64_t {
    // The plan.
    usual = 1,
    deaths = 4,
    distances = 7,
    upheavals = 8,
    lists = 9,
    shared_nodes = 10,
    twins = 11,
    move = 12,
    copies = 13,
    refusals = 14,
    absence = 15,
    newcomers = 23,
    stalls = 25,
    swaps = 29,
    replicas = 30,
    rarer_worlds = 31,
    detours = 56,
    short_lists = 77,
    late_commands = 75,
    // What may come to any plan.
    readers = 17,
    least_holds = 18,
    slots = 19,
    several = 20,
    evictions = 21,
    numbers_of_slots = 22,
    tokens = 24,
    revocations = 27,
    lookers = 28,
    downgrades = 40,
    notes = 61,
    candidates = 62,
    calm = 63,
    break_of_all = 64,
    watchers = 65,
    declarations = 66,
    // Families.
    elections = 34,
    changes = 41,
    deletions = 41,
    slow_lists = 42,
    bursts = 58,
    set_back = 58,
    permits = 70,
    limits = 71,
    older_files = 72,
    change_candidates = 73,
    declaration = 74,
    change_foreigners = 76,
    // What runs in it, each from its number on.
    network = 2,
    peace = 3,
    server = 100,
    program = 200,
    worker = 300,
    foreigner = 400,
    wire = 1'000,
};

/// The standard's distributions differ from library to library, so none of them is used.
class chance {
public:
    explicit chance(std::uint64_t seed) noexcept : state_(seed) {}
    chance(std::uint64_t seed, stream of, std::uint64_t number = 0, std::uint64_t sub = 0) noexcept
        : state_(chance(chance(seed).word() ^ (static_cast<std::uint64_t>(of) + number)).word() ^ sub) {
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

/// How many nodes a world has that would have `size`: in some worlds one or two.
inline std::size_t or_fewer(std::size_t size, std::uint64_t seed) noexcept {
    chance dice(seed, stream::short_lists);
    return dice.happens(0.15) ? 1 + dice.below(2) : size;
}

}  // namespace redlock::simulation

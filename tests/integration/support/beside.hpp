// Several attempts of one test beside each other, since most of them wait; knows no server.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

/// In place of REQUIRE: Catch2 may not check in other threads than its own. What is not so ends the
/// attempt.
#define MUST(what) \
    if (!(what)) throw std::runtime_error("not so: " #what)

namespace redlock::testing {

/// The two ways to lock, for attempts that are the same in both.
struct mode {
    std::string what;
    bool fencing;
};
inline const std::vector<mode> both_modes{{"fenced", true}, {"plain", false}};

/// Makes `attempt(one, i)` for the i-th of all, so many at once. Returns how those ended that
/// threw: a line each, which begins with `one.what`.
template <class One, class Attempt>
std::string failures(const std::vector<One>& all, std::size_t at_once, Attempt attempt) {
    std::atomic<std::size_t> next = 0;
    std::mutex gate;
    std::string text;
    const auto work = [&] {
        for (std::size_t i = next++; i < all.size(); i = next++) {
            try {
                attempt(all[i], i);
            } catch (const std::exception& e) {
                const std::lock_guard lock(gate);
                text += all[i].what + ": " + e.what() + "\n";
            }
        }
    };
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < at_once; ++t) threads.emplace_back(work);
    threads.clear();
    return text;
}

}  // namespace redlock::testing

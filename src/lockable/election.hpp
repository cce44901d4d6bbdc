// An election on a blocking client, and the pauses between its tries.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>

namespace redlock::detail {

/// A term that ends within `at_once` counts as a failure. Each failure in a row doubles the pause,
/// from `first` to `longest`; jitter takes up to half of it.
class back_off {
public:
    static constexpr std::chrono::milliseconds at_once{1'000};
    static constexpr std::chrono::milliseconds first{100};
    static constexpr std::chrono::milliseconds longest{30'000};

    /// The pause after a term that lasted so long; 0 after one that was no failure.
    std::chrono::milliseconds after(std::chrono::nanoseconds term, std::uint64_t random) noexcept;

private:
    std::chrono::milliseconds next_ = first;
};

}  // namespace redlock::detail

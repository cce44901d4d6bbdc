// How many of some instants lie in one window, whenever it begins; knows no clock but by name.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/clock.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace redlock::testing {

/// Of all windows of that length the one that holds most of them. A window does not hold its end.
inline std::size_t most_in_a_window(std::vector<clock::time_point> instants,
                                    clock::duration length) {
    std::sort(instants.begin(), instants.end());
    std::size_t most = 0;
    std::size_t first = 0;
    for (std::size_t last = 0; last < instants.size(); ++last) {
        while (instants[last] - instants[first] >= length) ++first;
        most = std::max(most, last - first + 1);
    }
    return most;
}

}  // namespace redlock::testing

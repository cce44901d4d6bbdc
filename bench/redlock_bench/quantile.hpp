// Quantiles of measured values; knows nothing of what was measured.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace bench {

/// Sorts what it is given. Of nothing there is no quantile: not a number.
inline double quantile(std::vector<double>& values, double q) {
    if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
    std::sort(values.begin(), values.end());
    const auto last = static_cast<double>(values.size() - 1);
    return values[static_cast<std::size_t>(q * last)];
}

}  // namespace bench

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

/// Of programs that ran in turns, block by block: the median of what one had in each block over
/// what the other had in the block beside it. What slows the machine for a while slows both.
inline double median_ratio(const std::vector<double>& one, const std::vector<double>& other) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < one.size(); ++i) ratios.push_back(one[i] / other[i]);
    return quantile(ratios, 0.5);
}

}  // namespace bench

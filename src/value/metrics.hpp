// The metrics of a client, each with its name, help and type; knows no format to write them in.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/export.hpp>
#include <redlock/stats.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// One line, or one histogram, of a metric.
struct metric_series {
    std::string_view label{};  ///< Its one label's name; empty: it has none.
    std::string_view label_value{};
    std::uint64_t value = 0;               ///< Of a counter or a gauge.
    const histogram* durations = nullptr;  ///< Of a histogram.
};

struct metric {
    enum class kind : std::uint8_t { counter, gauge, histogram };

    std::string_view
        name{};  ///< That of a counter ends in "_total", that of durations in "_seconds".
    std::string_view help{};
    kind type{};
    std::vector<metric_series> series{};
};

/// All of them, in the order in which they are written. Views of `stats`, which has to outlive
/// them.
REDLOCK_EXPORT std::vector<metric> metrics_of(const client_stats& stats);

}  // namespace redlock::detail

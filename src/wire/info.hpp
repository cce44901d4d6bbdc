// Reads fields from the answer to INFO; knows no field by name.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace redlock::wire {

/// The value of one "name:value" line of INFO; empty where there is none.
inline std::string_view field(std::string_view info, std::string_view name) noexcept {
    for (std::size_t at = 0; at < info.size();) {
        const std::size_t end = std::min(info.find("\r\n", at), info.size());
        const std::string_view line = info.substr(at, end - at);
        if (line.starts_with(name) && line.substr(name.size()).starts_with(':')) {
            return line.substr(name.size() + 1);
        }
        at = end + 2;
    }
    return {};
}

}  // namespace redlock::wire

// Lines of a story and their digest (FNV-1a).
// SPDX-License-Identifier: MIT
#include "simulation/story.hpp"

#include "simulation/schedule.hpp"

#include <array>
#include <chrono>
#include <cstdio>

namespace redlock::simulation {

void story::write(time_point now, const std::string& what) {
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now - beginning);
    std::array<char, 32> stamp{};
    std::snprintf(stamp.data(), stamp.size(), "%12.6f  ", static_cast<double>(us.count()) / 1e6);
    const std::string line = stamp.data() + what;
    for (const char c : line) {
        hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
    to_(line);
}

std::string story::digest() const {
    std::array<char, 17> hex{};
    std::snprintf(hex.data(), hex.size(), "%016llx", static_cast<unsigned long long>(hash_));
    return hex.data();
}

}  // namespace redlock::simulation

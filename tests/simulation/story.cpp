// Lines of a story and their digest (FNV-1a).
// SPDX-License-Identifier: MIT
#include "simulation/story.hpp"

#include <array>
#include <chrono>
#include <cstdio>

namespace redlock::simulation {

void story::write(time_point now, const std::string& what) {
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch() -
                                                                          std::chrono::hours(1));
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

counters& counters::operator+=(const counters& more) noexcept {
    granted += more.granted;
    refused += more.refused;
    cancelled += more.cancelled;
    released += more.released;
    lost += more.lost;
    extended += more.extended;
    crashes += more.crashes;
    empty_restarts += more.empty_restarts;
    partitions += more.partitions;
    client_pauses += more.client_pauses;
    client_deaths += more.client_deaths;
    clock_jumps += more.clock_jumps;
    late_deliveries += more.late_deliveries;
    quarantines += more.quarantines;
    second_rounds += more.second_rounds;
    owed_releases += more.owed_releases;
    timeouts += more.timeouts;
    late_replies += more.late_replies;
    noscripts += more.noscripts;
    foreign_grants += more.foreign_grants;
    commands += more.commands;
    faults += more.faults;
    return *this;
}

}  // namespace redlock::simulation

// What happened, a line each, and a digest of it; judges nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/clock.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace redlock::simulation {

/// Lines are made only where somebody reads them: most worlds are run without.
class story {
public:
    using reader = std::function<void(const std::string& line)>;

    explicit story(reader to = nullptr) : to_(std::move(to)) {}

    /// `say()` returns which program or node did what.
    template <class F>
    void tell(time_point now, F&& say) {
        if (to_) write(now, say());
    }
    /// Of all lines so far, as hex digits.
    std::string digest() const;

private:
    void write(time_point now, const std::string& what);

    reader to_;
    std::uint64_t hash_ = 0xcbf29ce484222325U;
};

/// What tells that the rare has happened.
struct counters {
    std::uint64_t granted = 0, refused = 0, cancelled = 0, released = 0, lost = 0, extended = 0,
                  downgraded = 0, crashes = 0, empty_restarts = 0, partitions = 0,
                  client_pauses = 0, client_deaths = 0, clock_jumps = 0, late_deliveries = 0,
                  quarantines = 0, second_rounds = 0, owed_releases = 0, timeouts = 0,
                  late_replies = 0, noscripts = 0, foreign_grants = 0, commands = 0, faults = 0;
};

/// Each of them with its name in reports.
inline constexpr std::array<std::pair<const char*, std::uint64_t counters::*>, 23> counter_fields{{
    {"granted", &counters::granted},
    {"lost", &counters::lost},
    {"crashes", &counters::crashes},
    {"empty_restarts", &counters::empty_restarts},
    {"partitions", &counters::partitions},
    {"client_pauses", &counters::client_pauses},
    {"client_deaths", &counters::client_deaths},
    {"clock_jumps", &counters::clock_jumps},
    {"late_deliveries", &counters::late_deliveries},
    {"quarantines", &counters::quarantines},
    {"second_rounds", &counters::second_rounds},
    {"owed_releases", &counters::owed_releases},
    {"refused", &counters::refused},
    {"cancelled", &counters::cancelled},
    {"extended", &counters::extended},
    {"downgraded", &counters::downgraded},
    {"released", &counters::released},
    {"foreign_grants", &counters::foreign_grants},
    {"timeouts", &counters::timeouts},
    {"late_replies", &counters::late_replies},
    {"noscripts", &counters::noscripts},
    {"commands", &counters::commands},
    {"faults", &counters::faults},
}};
static_assert(sizeof(counters) == counter_fields.size() * sizeof(std::uint64_t));

}  // namespace redlock::simulation

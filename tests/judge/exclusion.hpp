// Judges exclusion, fences, slots and least times by the leases of all programs; knows no clock and
// no node.
// SPDX-License-Identifier: MIT
#pragma once

#include "journal.hpp"
#include "timeline.hpp"
#include "violation.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace redlock::judge {

/// No two sections of a resource overlap, and fences rise in the order of the grants; timeline.hpp
/// has the rules, also of readers, slots and least times. Sections arrive in any order; of each
/// resource the latest few thousand are kept, so that an hour costs no more memory than a minute.
class exclusion {
public:
    explicit exclusion(reporter report) : report_(std::move(report)) {}

    /// One line of a program.
    void take(const std::string& who, const entry& e);
    /// The program was killed: what it had not ended ends by itself.
    void died(const std::string& who);
    /// A lease that is over.
    void add(span of);

    /// The leases of a resource that touch these times.
    std::vector<span> near(const std::string& resource, clock::time_point from,
                           clock::time_point to) const;
    /// Whether two readers of any resource ever held it at the same time.
    bool readers_have_met() const;
    /// Whether as many slots of any resource ever were held at the same time as there are.
    bool were_all_slots_held() const;

private:
    struct section {
        judge::span span;
        clock::time_point valid_until;
    };
    using sections = std::map<std::uint64_t, section>;

    void end(sections::iterator ended, sections& in);

    reporter report_;
    std::map<std::string, sections> open_;   // by program
    std::map<std::string, timeline> done_;  // by resource
};

}  // namespace redlock::judge

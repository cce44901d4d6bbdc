// The families of worlds, of which each is about one thing; a plan of `draw` is as it is without these.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/plan.hpp"

#include <cstdint>

namespace redlock::simulation {

plan draw_elections(std::uint64_t seed);  ///< Programs campaign for one office.
plan draw_bursts(std::uint64_t seed);     ///< All programs try at the same instants.
plan draw_changes(std::uint64_t seed);    ///< Operators change the list of nodes.
plan draw_set_back(std::uint64_t seed);   ///< All clocks go back while no program is there.
plan draw_deletions(std::uint64_t seed);  ///< An operator deletes the keys of locks by hand.
/// The world of `draw`, where some take several slots of a resource at once. Of a world that has no
/// place for them it is the same.
plan draw_permits(std::uint64_t seed);
/// The same, where workers make calls of a rate limiter.
plan draw_limits(std::uint64_t seed);

/// Adds what the family of this world does not draw itself: notes, readers, slots, several resources
/// at once, leases that keep others out, writers that go on as readers, tokens that are handed over,
/// candidates, programs that look, operators that revoke, delete keys, declare nodes new or set the
/// clocks of all. `is_delicate`: each thing that happens there follows from the one before.
void draw_guests(plan& out, bool is_delicate = false);

}  // namespace redlock::simulation

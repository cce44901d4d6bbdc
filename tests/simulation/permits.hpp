// Draws worlds in which leases have several slots, and worlds with a rate limit.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/plan.hpp"

#include <cstdint>

namespace redlock::simulation {

/// The world of `draw`, where some take several slots of a resource at once. Of a world that has no
/// place for them it is the same.
plan draw_permits(std::uint64_t seed);
/// The same, where workers make calls of a rate limiter.
plan draw_limits(std::uint64_t seed);

}  // namespace redlock::simulation

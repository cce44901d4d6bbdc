// Draws worlds in which writers go on as readers.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/plan.hpp"

#include <cstdint>

namespace redlock::simulation {

/// The world of `draw`, with readers in it, and writers that share their leases. Of a world that
/// has no place for them it is the same.
plan draw_downgrades(std::uint64_t seed);

}  // namespace redlock::simulation

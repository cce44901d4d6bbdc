// Draws worlds in which operators change the list of nodes while locks are held.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/plan.hpp"

#include <cstdint>

namespace redlock::simulation {

/// A family of its own: the worlds of `draw` are as they are without these.
plan draw_changes(std::uint64_t seed);

}  // namespace redlock::simulation

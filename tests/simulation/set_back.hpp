// Draws worlds in which the clocks of all nodes go back while no program is there.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/plan.hpp"

#include <cstdint>

namespace redlock::simulation {

/// A family of its own: the worlds of `draw` are as they are without these.
plan draw_set_back(std::uint64_t seed);

}  // namespace redlock::simulation

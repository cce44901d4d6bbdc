// Draws worlds in which all programs try for one lock at the same instants.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/plan.hpp"

#include <cstdint>

namespace redlock::simulation {

/// A family of its own: the worlds of `draw` are as they are without these.
plan draw_bursts(std::uint64_t seed);

}  // namespace redlock::simulation

// Draws worlds in which all programs campaign for one office, and leaders resign, crash and pause.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/plan.hpp"

#include <cstdint>

namespace redlock::simulation {

/// A family of its own: the worlds of `draw` are as they are without these.
plan draw_elections(std::uint64_t seed);

}  // namespace redlock::simulation

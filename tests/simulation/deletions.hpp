// Draws worlds in which an operator deletes the keys of locks by hand, while they are held.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/plan.hpp"

#include <cstdint>

namespace redlock::simulation {

/// A family of its own: the worlds of `draw` are as they are without these.
plan draw_deletions(std::uint64_t seed);

}  // namespace redlock::simulation

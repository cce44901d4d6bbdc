// A world in text: a line for the world, and for each node, program, foreigner and fault; runs none.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/plan.hpp"

#include <filesystem>
#include <string>

namespace redlock::simulation {

/// Each line is a word and NAME=VALUE for what is not as in an empty plan: `fault kind=kill at=2s
/// programs=1`. What a plan leaves open, as the pauses of a worker, is drawn from its seed.
std::string text_of(const plan& what);

/// Reads what `text_of` wrote. Empty lines, and those that begin with '#', are for readers. Throws
/// std::invalid_argument, with the line and what is wrong with it.
plan read_plan(const std::filesystem::path& file);

}  // namespace redlock::simulation

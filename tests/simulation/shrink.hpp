// A broken world with as little in it as still breaks; knows no fault by name.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/plan.hpp"
#include "simulation/world.hpp"

namespace redlock::simulation {

outcome run_quietly(const plan& what);

/// `broken` breaks a promise. Leaves out faults, programs' workers, foreigners, and what comes
/// after, for as long as the same promise is broken, within a number of runs.
plan shrink(plan broken, const violation& how, int runs = 400);

}  // namespace redlock::simulation

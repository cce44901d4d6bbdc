// Draws brief programs, and when a process of one comes.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/chance.hpp"
#include "simulation/plan.hpp"

#include <cstdint>

namespace redlock::simulation {

/// Adds a program of which a process comes now and then. Returns its bit.
std::uint32_t add_brief_program(plan& out, chance& dice, errand what);
/// A process of the program comes at about these intervals, as long as the world has work to do. It
/// stays for `longest` at most.
void add_visits(plan& out, chance& dice, std::uint32_t program, duration pause, duration longest);
/// Beside all else processes look at holders, as `redlock inspect`, `list` and `watch` do.
/// Some name some of the nodes only, or have a larger ttl_max; some come when a node has lost its
/// data, or before any other program. They cost no node its vote. And some programs have only looked
/// until they ask for their first lock.
void draw_lookers(plan& out, chance& dice);

}  // namespace redlock::simulation

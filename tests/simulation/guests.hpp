// What may come to any world, each by a draw of its own.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/plan.hpp"

namespace redlock::simulation {

/// Adds what the family of this world does not draw itself: notes, readers, slots, several resources
/// at once, leases that keep others out, writers that go on as readers, tokens that are handed over,
/// candidates, programs that look, operators that revoke, delete keys, declare nodes new or set the
/// clocks of all. `is_delicate`: each thing that happens there follows from the one before.
void draw_guests(plan& out, bool is_delicate = false);

}  // namespace redlock::simulation

// Instants and spans on the clock of leases.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/clock.hpp>

namespace redlock {

using time_point = clock::time_point;
using duration = clock::duration;

}  // namespace redlock

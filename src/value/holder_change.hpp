// Whether a resource has changed hands between two states of it; sends no command.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/resource_state.hpp>

namespace redlock::detail {

/// Whether a watcher that knows `last` is to learn of `now`, which enough nodes agree on: the
/// resource is taken, free or kept now and was not, or is shared and was not, or it, one of its
/// slots or a share of it has another holder or note. It does not count as a change that a lease was
/// extended, or that the fence which shows is another one of the same lease. Any state is news to a
/// watcher whose `last` was not decided.
bool has_changed_hands(const resource_state& last, const resource_state& now);

}  // namespace redlock::detail

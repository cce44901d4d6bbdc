// How a lockable finds out that a lease was lost; knows no threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/blocking_client.hpp>
#include <redlock/clock.hpp>
#include <redlock/error.hpp>
#include <redlock/lease.hpp>

namespace redlock::detail {

/// A thread can see by the clock that a lease is over before the client's thread has reported that:
/// waits for the report, for a second at most, so that `lost_token()` fires before an exception is
/// thrown. Returns at once for an empty lease.
void await_report(const lease& lost);

/// Releases it. False if that shows that the lease was lost: it was not held until then.
bool release_held(blocking_client& client, lease held);

}  // namespace redlock::detail

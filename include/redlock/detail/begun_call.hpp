// An acquire of a blocking client that is begun, and whose outcome another thread gets; shows no
// Asio.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/error.hpp>
#include <redlock/export.hpp>
#include <redlock/lease.hpp>
#include <redlock/options.hpp>
#include <redlock/resource_list.hpp>

#include <functional>

namespace redlock {

class blocking_client;

namespace detail {

/// Runs once, in the client's own thread; before `begin_acquire` returns if the client was closed
/// by a fork or moved from. It must not throw. A lease that was not granted says why.
using lease_outcome = std::function<void(error_code, lease)>;

/// Begins `acquire`, or `acquire_all` of several, and waits for nothing. What it returns cancels
/// the call, from any thread, while the client lives; it is empty where nothing was begun.
REDLOCK_EXPORT std::function<void()> begin_acquire(blocking_client& client,
                                                   resource_list resources,
                                                   const acquire_options& options,
                                                   lease_outcome done);

}  // namespace detail
}  // namespace redlock

// The mutex over the nodes that its holder may lock again; shows no Asio.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/mutex.hpp>

#include <string>
#include <utility>

namespace redlock {

/// As `mutex`, but the thread that holds it may lock it again. The object counts the levels; one
/// quorum lock, with one lease and one fence, stands behind them all. To lock again sends nothing
/// to the nodes, and the last `unlock()` releases the lock.
///
/// **Loss.** A loss reaches all levels: the mutex is no longer locked at any of them. The next
/// operation of the thread that held it throws `errc::lost`, once, with the exceptions that `mutex`
/// names. After that the `unlock()` of each outstanding level returns and does nothing, so that the
/// guards of the outer levels can be destroyed. The thread may lock the mutex again before that:
/// its next `unlock()` calls then end the new levels first.
///
/// To lock it again is done at once: `lock()` is no `would_deadlock`, and `try_lock()` is true.
/// `unlock()` ends one level. Everything else, such as the errors, is as in `mutex`.
class REDLOCK_EXPORT recursive_mutex : public basic_mutex {
public:
    /// See `mutex`.
    recursive_mutex(blocking_client& client, std::string resource, acquire_options options = {})
        : basic_mutex(client, std::move(resource), options, nesting::counted) {}
};

}  // namespace redlock

// The mutex over the nodes that its holder may lock again; shows no Asio.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/blocking_client.hpp>
#include <redlock/detail/waiting_time.hpp>
#include <redlock/export.hpp>
#include <redlock/options.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

namespace redlock {

namespace detail {
class lockable;
}

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
/// Everything else, such as the errors, is as in `mutex`.
class REDLOCK_EXPORT recursive_mutex {
public:
    /// See `mutex`.
    recursive_mutex(blocking_client& client, std::string resource, acquire_options options = {});
    ~recursive_mutex();
    recursive_mutex(const recursive_mutex&) = delete;
    recursive_mutex& operator=(const recursive_mutex&) = delete;

    /// Blocks until the mutex is locked: at once if this thread holds it. See `mutex::lock`.
    void lock();
    /// One attempt; true at once if this thread holds the mutex. See `mutex::try_lock`.
    bool try_lock() { return try_lock_within(std::chrono::milliseconds(0)); }
    /// See `mutex::try_lock_for`.
    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period>& time) {
        return try_lock_within(detail::waiting_time(time));
    }
    /// See `mutex::try_lock_until`.
    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration>& time) {
        return try_lock_within(detail::waiting_time(time));
    }

    /// Ends one level; the last one releases the lock. See `mutex::unlock`.
    void unlock();

    /// See `mutex::fence`.
    std::uint64_t fence() const noexcept;
    /// See `mutex::lost_token`.
    std::stop_token lost_token() const noexcept;
    /// See `mutex::touch`.
    void touch() const noexcept;

private:
    bool try_lock_within(std::chrono::milliseconds wait);

    std::unique_ptr<detail::lockable> state_;
};

}  // namespace redlock

// The mutex over the nodes that readers share; shows no Asio.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/mutex.hpp>

#include <chrono>
#include <stop_token>
#include <string>
#include <utility>

namespace redlock {

/// As `mutex`, but threads may also share it: any number of them, in all programs that name the
/// resource, hold it *shared* at the same time, and none of them while another holds it as a
/// `mutex` is held. `std::shared_lock` works on it, as `std::unique_lock` does. Each thread that
/// shares it has a lease of its own, which it alone can lose.
///
/// A thread holds it one way at a time, and once. If it locks it again, either way, it gets
/// `would_deadlock` (from the `try_lock` functions: false): to change from shared to exclusive it
/// has to unlock first. From exclusive to shared it gets by `unlock_and_lock_shared()`.
///
/// `unlock()` and `unlock_shared()` end whichever hold the thread has. `lock_mode` says what the
/// fences of those that share it mean. Everything else is as in `mutex`, above all which operation
/// throws `errc::lost`.
class REDLOCK_EXPORT shared_mutex : public basic_mutex {
public:
    /// See `mutex`. To share needs `client_options::fencing`, and `options.min_hold` to be 0:
    /// otherwise the functions that lock it shared throw `invalid_argument`.
    shared_mutex(blocking_client& client, std::string resource, acquire_options options = {})
        : basic_mutex(client, std::move(resource), options, nesting::refused) {}

    /// Blocks until the calling thread holds the mutex, perhaps beside others that share it.
    void lock_shared() { lock_as(lock_mode::shared, {}); }
    /// See `mutex::lock(std::stop_token)`.
    void lock_shared(std::stop_token stop) { lock_as(lock_mode::shared, std::move(stop)); }
    /// One attempt to share it. See `mutex::try_lock`.
    [[nodiscard]] bool try_lock_shared() {
        return try_lock_within(std::chrono::milliseconds(0), lock_mode::shared);
    }
    /// See `mutex::try_lock_for`.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& time) {
        return try_lock_within(detail::waiting_time(time), lock_mode::shared);
    }
    /// See `mutex::try_lock_until`.
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& time) {
        return try_lock_within(detail::waiting_time(time), lock_mode::shared);
    }
    /// See `mutex::unlock`. The others that share it keep it.
    void unlock_shared() { unlock(); }

    /// Goes on as one that shares the mutex, which the calling thread holds alone: those that wait
    /// to share it get it, and nobody has it alone in between. What has to be done alone is done
    /// before the call. If the thread shares it already, nothing changes. There is no way back, as
    /// for `client::async_downgrade`, which says the rest.
    ///
    /// **Errors.** Throws `std::system_error`: `not_held` if the thread does not hold it; and, with
    /// the hold as it was, `invalid_argument` if `options.min_hold` is not over, or `fencing` is
    /// off. If the hold is lost, `unlock()` or `unlock_shared()` reports it.
    void unlock_and_lock_shared() { share(); }
};

}  // namespace redlock

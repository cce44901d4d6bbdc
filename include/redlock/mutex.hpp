// The mutex over the nodes: a lock for the standard's guards; shows no Asio.
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
#include <utility>

namespace redlock {

/// The members of `mutex`, `recursive_mutex` and `shared_mutex`: see `mutex`.
class REDLOCK_EXPORT basic_mutex {
public:
    basic_mutex(const basic_mutex&) = delete;
    basic_mutex& operator=(const basic_mutex&) = delete;

    /// Blocks until the mutex is locked.
    ///
    /// **Errors.** `would_deadlock`: this thread has locked it, or is the client's own. `lost`: see
    /// `mutex`. Else those of `blocking_client::acquire`, such as `contended` or `no_quorum` when
    /// `options.wait` is over.
    void lock() { lock_as(lock_mode::exclusive, {}); }
    /// As `lock()`, until a stop is requested: then it throws `operation_aborted`, which equals
    /// `std::errc::operation_canceled`, and the mutex is not locked.
    void lock(std::stop_token stop) { lock_as(lock_mode::exclusive, std::move(stop)); }

    /// One attempt. False if it failed: another owner holds the lock, waiters precede, no quorum
    /// could vote; also if this thread has locked the mutex. `blocking_client::acquire` says why.
    ///
    /// **Errors.** `lost`: see `mutex`; what would fail again: `invalid_argument`, `client_closed`.
    [[nodiscard]] bool try_lock() { return try_lock_within(std::chrono::milliseconds(0)); }

    /// As `try_lock()`, but waits in the queue for up to `time`.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& time) {
        return try_lock_within(detail::waiting_time(time));
    }
    /// As `try_lock_for()`, with the time that is left until `time` when it is called: a clock
    /// that is set meanwhile does not change it.
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& time) {
        return try_lock_within(detail::waiting_time(time));
    }

    /// Releases the lock, and blocks until a quorum has answered or can't. If too few nodes answer,
    /// the client goes on to release it in the background.
    ///
    /// **Errors.** `not_held`: this thread has not locked it; nothing changes. `lost`: see `mutex`;
    /// also if the nodes answer that the key was not there any more, of which no token knew.
    void unlock();

    /// The fencing token of the lease that this thread holds: see `lease::fence()`. 0 if it holds
    /// none. A lease that was lost counts until an operation has reported the loss.
    std::uint64_t fence() const noexcept;
    /// Reports the loss of the lease that this thread holds: see `lease::lost_token()`. Empty if it
    /// holds none. Other threads may use the token.
    std::stop_token lost_token() const noexcept;
    /// A sign of life, for `acquire_options::watchdog`: see `lease::touch()`. Only the thread that
    /// holds the mutex gives one; of any other thread, the call does nothing.
    void touch() const noexcept;

protected:
    /// Whether a thread that holds the lock may lock it again.
    enum class nesting : bool { refused, counted };

    basic_mutex(blocking_client& client, std::string resource, acquire_options options,
                nesting again);
    ~basic_mutex();

    /// Beside a hold of either mode, another one is refused.
    void lock_as(lock_mode mode, std::stop_token stop);
    bool try_lock_within(std::chrono::milliseconds wait, lock_mode mode = lock_mode::exclusive);
    /// Shares the hold of the calling thread from now on, also where it has lost it: its unlock
    /// reports that.
    void share();

private:
    struct state;

    std::unique_ptr<state> state_;
};

/// A quorum lock that `std::unique_lock`, `std::scoped_lock`, `std::lock_guard` and `std::lock`
/// work on: one thread of all programs that name the resource holds it. The object has no thread
/// of its own; threads that wait stand in the client's queue, first come, first served.
///
/// A thread that ends without `unlock()` leaves the mutex locked: the client renews the lease
/// until the mutex is destroyed.
///
/// **Loss.** A lease can be lost while the mutex is locked. `lost_token()` reports that at once.
/// The mutex is then no longer locked, and the next operation of the thread that held it throws
/// `std::system_error` with `errc::lost`, once:
///
/// - `unlock()` throws, unless an exception is already on its way
///   (`std::uncaught_exceptions() > 0`): then it returns, and the next operation throws.
/// - `lock()` and the `try_lock` functions throw, and have not locked the mutex.
///
/// The guard whose section was lost still calls `unlock()` in its destructor; that returns and
/// does nothing. So end a section with a call of `unlock()`, and let its exception leave the scope
/// of the guard:
///
///     std::unique_lock lock(mutex);
///     work(mutex.fence(), mutex.lost_token());
///     lock.unlock();  // throws if the lease was lost: the work may have met another holder's
///
/// No destructor can report a loss. A guard that is destroyed while it holds a lost lease, with no
/// exception on its way and none thrown before for this loss, ends the program by
/// `std::terminate`: the section counted on a lock that it did not have. Catch the exception
/// inside the guard's scope, and the guard still believes that it holds the mutex: call its
/// `release()` before it is used again.
///
/// **Leaves behind.** The destructor of a locked mutex releases the lease in the background; it
/// never blocks and never throws.
/// **Thread safety.** Any thread may call any member, except the destructor.
/// **Errors.** Exceptions are `std::system_error`; their code compares with `errc`, `condition`
/// and `std::errc`. Their text says why, node by node.
class REDLOCK_EXPORT mutex : public basic_mutex {
public:
    /// Sends nothing. `options.wait` limits `lock()`; 0: a year. `options.mode` is not used.
    /// `options.owner` may identify one lease at a time: leave it zero if several threads lock.
    ///
    /// **Preconditions.** The client outlives the mutex and is not moved from.
    mutex(blocking_client& client, std::string resource, acquire_options options = {})
        : basic_mutex(client, std::move(resource), options, nesting::refused) {}
};

}  // namespace redlock

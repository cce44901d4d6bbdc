// The semaphore over the nodes: at most so many at once; shows no Asio.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/blocking_client.hpp>
#include <redlock/detail/waiting_time.hpp>
#include <redlock/export.hpp>
#include <redlock/options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

namespace redlock {

/// At most so many at once, of all programs that name the resource: as `std::counting_semaphore`,
/// whose members it has. Behind each acquisition stands one of `slots` slots, with a lease of its
/// own, which is renewed until it is given back: see `acquire_options::slots`.
///
/// **Threads.** The semaphore belongs to no thread: any thread may release what any other has
/// acquired. `release()` does not name a slot. It gives back one that the calling thread has
/// acquired, the latest first; if it has none, the oldest of all.
///
/// **Several slots.** `fence()`, `slot()` and `lost_token()` are those of the slot that the calling
/// thread acquired last and that is not given back. So ask right after each acquisition, and give
/// what they return to the threads that do the work. The fences of two slots say nothing of each
/// other: what a fence protects has to belong to one slot.
///
/// **Loss.** Each slot can be lost for itself. `lost_token()` reports that at once. The loss is
/// then thrown once, as `std::system_error` with `errc::lost`, by the next operation of the thread
/// that acquired the slot:
///
/// - `acquire()` and the `try_acquire` functions throw, and have acquired nothing. The lost slot
///   has still to be given back: for each acquisition there is one release, whatever happens.
/// - `release()` throws after it has given back: it is not to be called again for this slot. If an
///   exception is already on its way (`std::uncaught_exceptions() > 0`) it returns, and the next
///   operation throws.
///
/// Of the slots that it could give back `release()` takes a lost one first. Where a thread has
/// none of its own, it reports those that others have lost.
///
/// **Leaves behind.** The destructor releases all slots in the background; it never blocks and
/// never throws.
/// **Thread safety.** Any thread may call any member, except the destructor.
/// **Errors.** Exceptions are `std::system_error`; their code compares with `errc`, `condition`
/// and `std::errc`. Their text says why, node by node.
class REDLOCK_EXPORT counting_semaphore {
public:
    /// Sends nothing. `slots` is 1 to `max_slots`; where programs name different numbers the
    /// smallest counts. `options.wait` limits `acquire()`; 0: a year. `options.mode` and
    /// `options.slots` are not used. With `options.permits` each acquisition takes so many slots at
    /// once, under one lease. `options.owner` may identify one lease at a time: leave it
    /// zero.
    ///
    /// **Preconditions.** The client outlives the semaphore and is not moved from.
    /// **Errors.** Throws `std::invalid_argument` where `slots` is out of its range.
    counting_semaphore(blocking_client& client, std::string resource, std::uint16_t slots,
                       acquire_options options = {});
    ~counting_semaphore();
    counting_semaphore(const counting_semaphore&) = delete;
    counting_semaphore& operator=(const counting_semaphore&) = delete;

    /// Blocks until there is a slot. The waiters of all programs are served first come, first
    /// served. A thread that already has slots may wait for itself: no error reports that.
    ///
    /// **Cancellation.** A stop ends it with `boost::asio::error::operation_aborted`, which equals
    /// `std::errc::operation_canceled`; nothing is acquired then.
    /// **Errors.** `lost`: see above. `invalid_argument`: an option is out of its range, or the
    /// client has no `fencing`. Else those of `blocking_client::acquire`, such as `contended` or
    /// `no_quorum` when `options.wait` is over.
    void acquire(std::stop_token stop = {});

    /// One attempt. False if it failed: all slots are taken, waiters precede, no quorum could vote.
    /// `blocking_client::acquire` says why.
    ///
    /// **Errors.** `lost`: see above; what would fail again: `invalid_argument`, `client_closed`.
    [[nodiscard]] bool try_acquire() {
        return try_acquire_within(std::chrono::milliseconds(0), {});
    }

    /// As `try_acquire()`, but waits in the queue for up to `time`, or until a stop is requested:
    /// false then, too.
    template <class Rep, class Period>
    [[nodiscard]] bool try_acquire_for(const std::chrono::duration<Rep, Period>& time,
                                       std::stop_token stop = {}) {
        return try_acquire_within(detail::waiting_time(time), std::move(stop));
    }
    /// As `try_acquire_for()`, with the time that is left until `time` when it is called: a clock
    /// that is set meanwhile does not change it.
    template <class Clock, class Duration>
    [[nodiscard]] bool try_acquire_until(const std::chrono::time_point<Clock, Duration>& time,
                                         std::stop_token stop = {}) {
        return try_acquire_within(detail::waiting_time(time), std::move(stop));
    }

    /// Gives back what so many acquisitions took, and blocks until a quorum has answered or can't.
    /// If too few nodes answer, the client goes on to release it in the background.
    ///
    /// **Errors.** `not_held`: fewer acquisitions than `count` are left to be given back, or
    /// `count` is negative; nothing changes. `lost`: see above; also if the nodes answer that a key
    /// was not there any more, of which no token knew.
    void release(std::ptrdiff_t count = 1);

    /// The fencing token of the slot: see `lease::fence()`, and above for which slot it is. 0 if
    /// the calling thread has none. A slot that was lost counts until that has been reported.
    std::uint64_t fence() const noexcept;
    /// Which slot it is: see `lease::slot()`. 0 if the calling thread has none.
    std::uint16_t slot() const noexcept;
    /// Reports the loss of that slot alone: see `lease::lost_token()`. Empty if the calling thread
    /// has none. Other threads may use the token.
    std::stop_token lost_token() const noexcept;
    /// A sign of life, for `acquire_options::watchdog`: of all slots that the calling thread has
    /// acquired and that were not given back. See `lease::touch()`.
    void touch() const noexcept;

private:
    struct state;

    bool try_acquire_within(std::chrono::milliseconds wait, std::stop_token stop);

    std::unique_ptr<state> state_;
};

}  // namespace redlock

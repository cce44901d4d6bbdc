// At most so many per period, over the nodes; shows no Asio.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/blocking_client.hpp>
#include <redlock/detail/limit_call.hpp>
#include <redlock/detail/waiting_time.hpp>
#include <redlock/export.hpp>
#include <redlock/limit_answer.hpp>

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <utility>

namespace redlock {

/// At most `limit` times per `period`, of all programs that name the resource: mails to a provider,
/// calls of a paid service. Behind each time that is allowed stands one of `limit` slots, which
/// nobody gives back: the nodes keep it for a period.
///
/// **What is promised.** No window of the length of a period holds more than `limit` of the
/// instants `answer::at`, whenever it begins, also while a minority of the nodes is down, hangs, or
/// was restarted without its data. What the program does then is up to it: if it stands still
/// between the return and the call that it limits, that call is later than its instant.
/// **What is reached.** A slot is taken for a little longer than a period: by the drift allowance
/// (1 % and 2 ms by default), and by twice the time that the last grants took, 1 % and 1 ms at
/// least. So under demand more than 95 % of the limit is reached for periods of 200 ms and more,
/// where a round trip takes less than a hundredth of the period.
///
/// A try takes one round trip, and another one if it met a taken slot. Nothing is renewed.
///
/// **Leaves behind.** The slots that were allowed, until their period is over; also after the
/// limiter and the client are destroyed. A try that failed gives back what it took.
/// **Thread safety.** Any thread may call any member, except the destructor.
class REDLOCK_EXPORT rate_limiter {
public:
    using answer = limit_answer;

    /// Sends nothing. All programs name the same limit and period. If not, the smallest limit and
    /// the longest period count for all, from the first time that is allowed by them on: what was
    /// allowed before, or is under way then, is not made up for. One that nobody names any more
    /// counts for a period after its last use, at least for 15 s; a program that met a longer
    /// period than its own may go by it for as long again. No program uses `slots` or a
    /// `counting_semaphore` of the same resource.
    ///
    /// **Preconditions.** The client outlives the limiter and is not moved from.
    /// **Errors.** Throws `std::system_error` with `errc::invalid_argument` if `limit` is 0 or
    /// above `max_slots`, if `period` is not above 0 or longer than the `ttl_max` of the client
    /// allows (the text names both), or if the client has no `fencing`.
    rate_limiter(blocking_client& client, std::string resource, std::uint16_t limit,
                 std::chrono::milliseconds period);
    ~rate_limiter() = default;
    rate_limiter(const rate_limiter&) = delete;
    rate_limiter& operator=(const rate_limiter&) = delete;

    /// Whether one more is allowed now, or `cost` more at once: then all of them count, or none. If
    /// it is, the slots are used up. It is not while calls of `acquire_for()` of this limiter wait.
    /// That the limit is reached is no error.
    ///
    /// **Preconditions.** `cost` is 1 to the limit, and at most 64: count in larger units.
    /// **Errors.** `std::system_error`, whose text says why, node by node: `invalid_argument`: the
    /// cost can't be; `no_quorum`, so that the caller may decide whether to go on without a limit,
    /// also where another program names a period that is too long for this client's `ttl_max`;
    /// `validity_exhausted`: the nodes answer too late for the period; else those of
    /// `blocking_client::acquire`. Nothing is used up then.
    answer try_acquire(std::uint16_t cost = 1);

    /// Blocks for up to `time` until one more is allowed, and uses the slot up; with 0 or less it
    /// tries once. Those that wait for one limiter ask the nodes in the order of their calls, and
    /// hardly more often than one of them would. Between limiters there is no order: where others
    /// take each slot as it becomes free, a call that costs many may wait in vain.
    ///
    /// **Cancellation.** A stop ends it with `boost::asio::error::operation_aborted`, which equals
    /// `std::errc::operation_canceled`. It uses no slot up then.
    /// **Errors.** `contended`: none was allowed in this time. Else those of `try_acquire()`: while
    /// it waits it rides out failures of the nodes.
    template <class Rep, class Period>
    answer acquire_for(const std::chrono::duration<Rep, Period>& time, std::stop_token stop = {}) {
        return acquire_within(1, detail::waiting_time(time), std::move(stop));
    }
    template <class Rep, class Period>
    answer acquire_for(const std::chrono::duration<Rep, Period>& time, std::uint16_t cost,
                       std::stop_token stop = {}) {
        return acquire_within(cost, detail::waiting_time(time), std::move(stop));
    }

    /// From now on at most `limit` times per period, of all programs, and whatever they named when
    /// they began: the number that was set last counts, up or down, as soon as a quorum of nodes
    /// has it, which is when this returns. A window that begins after that holds no more than it,
    /// but for calls under way; one that began before no more than the larger of the two.
    ///
    /// It counts for a day, and as long as programs that met it use the limit; give programs that
    /// are started from then on the same number.
    ///
    /// **Errors.** `std::system_error`: `invalid_argument`, as of the constructor; `no_quorum`:
    /// some nodes may have it, and this limiter goes on naming it.
    void set_limit(std::uint16_t limit);

private:
    answer acquire_within(std::uint16_t cost, std::chrono::milliseconds wait,
                          std::stop_token stop);

    blocking_client* client_;
    std::string resource_;
    detail::limiter_ptr limiter_;
};

}  // namespace redlock

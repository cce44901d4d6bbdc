// At most so many per period, over the nodes; shows no Asio.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/blocking_client.hpp>
#include <redlock/clock.hpp>
#include <redlock/export.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

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
/// A try takes one round trip, and another one if it met a taken slot. It does not wait, and
/// nothing is renewed.
///
/// **Leaves behind.** The slots that were allowed, until their period is over; also after the
/// limiter and the client are destroyed. A try that failed gives back what it took.
/// **Thread safety.** Any thread may call any member, except the destructor.
class REDLOCK_EXPORT rate_limiter {
public:
    struct answer {
        bool allowed = false;
        /// If it is not allowed: the time until a slot is free on a quorum of nodes. Others may be
        /// faster then.
        std::chrono::milliseconds retry_after{0};
        /// If it is allowed: the instant that counts, just before the return.
        clock::time_point at{};

        explicit operator bool() const noexcept { return allowed; }
    };

    /// Sends nothing. All programs name the same limit: if not, the smallest counts, and one that
    /// nobody names any more counts for twice `ttl_max` after its last use. No program uses `slots`
    /// or a `counting_semaphore` of the same resource.
    ///
    /// **Preconditions.** The client outlives the limiter and is not moved from.
    /// **Errors.** Throws `std::system_error` with `errc::invalid_argument` if `limit` is 0 or
    /// above `max_slots`, if `period` is not above 0 or longer than the `ttl_max` of the client
    /// allows (the text names both), or if the client has no `fencing`.
    rate_limiter(blocking_client& client, std::string resource, std::uint16_t limit,
                 std::chrono::milliseconds period);
    ~rate_limiter();
    rate_limiter(const rate_limiter&) = delete;
    rate_limiter& operator=(const rate_limiter&) = delete;

    /// Whether one more is allowed now. If it is, the slot is used up.
    ///
    /// **Errors.** `std::system_error`, whose text says why, node by node: `no_quorum`, so that the
    /// caller may decide whether to go on without a limit; `validity_exhausted`: the nodes answer
    /// too late for the period; else those of `blocking_client::acquire`. Nothing is used up then.
    answer try_acquire();

private:
    struct state;

    std::unique_ptr<state> state_;
};

}  // namespace redlock

// At most so many per period, over the nodes, for programs with an event loop; names no socket and
// no script.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/client.hpp>
#include <redlock/detail/access.hpp>
#include <redlock/detail/initiate_limit.hpp>
#include <redlock/detail/waiting_time.hpp>
#include <redlock/limit_answer.hpp>

#include <boost/asio/async_result.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace redlock {

/// At most `limit` times per `period`, of all programs that name the resource: a `rate_limiter`
/// over a `client`. What is promised there, and what is reached, holds here, too.
///
/// Completion, cancellation, fork and thread safety of the `async_` functions are those of
/// `client`.
///
/// **Leaves behind.** The slots that were allowed, until their period is over. The limiter may be
/// destroyed while operations are under way: they go on.
/// **Thread safety.** Any thread may call any member. Only moving, assigning and destroying a
/// limiter exclude all other calls to it.
class async_rate_limiter {
public:
    using answer = limit_answer;

    /// Sends nothing. The limiter uses the connections of `over`, also after that client is moved.
    /// Once they are closed, each operation completes with `errc::client_closed`; so the client may
    /// be destroyed before the limiter.
    ///
    /// **Preconditions.** Those of `rate_limiter`: all programs name the same limit and period, and
    /// the resource is for nothing else.
    /// **Errors.** Throws what `rate_limiter` throws: `std::system_error` with
    /// `errc::invalid_argument`.
    async_rate_limiter(client& over, std::string resource, std::uint16_t limit,
                       std::chrono::milliseconds period)
        : impl_(detail::access::impl(over)),
          limiter_(detail::make_limiter(impl_, std::move(resource), limit, period)) {}
    /// The operations of a limiter that was moved from complete with `client_closed`.
    async_rate_limiter(async_rate_limiter&&) noexcept = default;
    async_rate_limiter& operator=(async_rate_limiter&&) noexcept = default;

    /// Whether one more is allowed now, or `cost` more at once: then all of them count, or none. If
    /// it is, the slots are used up. It is not while calls of `async_acquire_for` of this limiter
    /// wait.
    ///
    /// **Preconditions.** `cost` is 1 to the limit, and at most 64: count in larger units.
    /// **Completion.** That the limit is reached is no error: `allowed` is false, and `why` and
    /// `retry_after` say more. The answer has its `why` also after an error.
    /// **Leaves behind.** Nothing, if it is not allowed, and after any error.
    /// **Errors.** `invalid_argument`: the cost can't be; `no_quorum`, so that the caller may
    /// decide whether to go on without a limit; `validity_exhausted`: the nodes answer too late for
    /// the period; else those of `client::async_acquire`.
    template <detail::token_for<void(error_code, answer)> T = detail::default_token>
    [[nodiscard]] auto async_try_acquire(T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, answer)>(
            detail::initiate<&detail::start_limited>{impl_}, token, limiter_, std::uint16_t{1},
            std::nullopt);
    }
    template <detail::token_for<void(error_code, answer)> T = detail::default_token>
    [[nodiscard]] auto async_try_acquire(std::uint16_t cost, T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, answer)>(
            detail::initiate<&detail::start_limited>{impl_}, token, limiter_, cost, std::nullopt);
    }

    /// Waits for up to `time` until one more is allowed; with 0 or less it tries once. Those that
    /// wait for one limiter ask the nodes in the order of their calls, and hardly more often than
    /// one of them would. Between limiters there is no order.
    ///
    /// **Completion.** Success: it is allowed, and the slot is used up. It may complete later than
    /// `time` by one try.
    /// **Cancellation.** It uses no slot up then.
    /// **Leaves behind.** Nothing, after any error.
    /// **Errors.** `contended`: none was allowed in this time; `why` and `retry_after` of the
    /// answer say more. Else those of `async_try_acquire`: while it waits it rides out failures of
    /// the nodes.
    template <detail::token_for<void(error_code, answer)> T = detail::default_token>
    [[nodiscard]] auto async_acquire_for(std::chrono::milliseconds time, T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, answer)>(
            detail::initiate<&detail::start_limited>{impl_}, token, limiter_, std::uint16_t{1},
            detail::waiting_time(time));
    }
    template <detail::token_for<void(error_code, answer)> T = detail::default_token>
    [[nodiscard]] auto async_acquire_for(std::chrono::milliseconds time, std::uint16_t cost,
                                         T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, answer)>(
            detail::initiate<&detail::start_limited>{impl_}, token, limiter_, cost,
            detail::waiting_time(time));
    }

    /// See `rate_limiter::set_limit`.
    ///
    /// **Completion.** Success: a quorum has it. The refusal has one vote per node, also then.
    /// **Cancellation.** Some nodes may have it then.
    template <detail::token_for<void(error_code, refusal)> T = detail::default_token>
    [[nodiscard]] auto async_set_limit(std::uint16_t limit, T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, refusal)>(
            detail::initiate<&detail::start_limit_change>{impl_}, token, limiter_, limit);
    }

private:
    detail::impl_ptr impl_;
    detail::limiter_ptr limiter_;
};

}  // namespace redlock

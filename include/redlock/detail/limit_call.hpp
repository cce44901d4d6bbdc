// The boundary between rate limiters and the client that asks the nodes for them; shows no Asio.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/export.hpp>
#include <redlock/limit_answer.hpp>
#include <redlock/options.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

namespace redlock {

class blocking_client;

namespace detail {

struct limiter;
using limiter_ptr = std::shared_ptr<limiter>;

/// Throws `std::system_error` with `errc::invalid_argument` if there can't be such a limit.
REDLOCK_EXPORT limiter_ptr make_limiter(const client_options& client, std::string resource,
                                        std::uint16_t limit, std::chrono::milliseconds period);

/// One call, which blocks for up to `wait`, and then for one try.
REDLOCK_EXPORT limit_answer ask_limit(blocking_client& client, const limiter_ptr& of,
                                      std::uint16_t cost, std::chrono::milliseconds wait,
                                      std::stop_token stop);
/// Without an error a quorum has it.
REDLOCK_EXPORT refusal change_limit(blocking_client& client, const limiter_ptr& of,
                                    std::uint16_t limit);

}  // namespace detail
}  // namespace redlock

// The boundary between the templates of an asynchronous rate limiter and the compiled library,
// which type-erases handlers.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/detail/initiate.hpp>
#include <redlock/detail/limit_call.hpp>
#include <redlock/limit_answer.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace redlock::detail {

using limit_handler = asio::any_completion_handler<void(error_code, limit_answer)>;
using refusal_handler = asio::any_completion_handler<void(error_code, refusal)>;

/// As of a client with these options; of one that was moved from, as with the default ones.
REDLOCK_EXPORT limiter_ptr make_limiter(const impl_ptr& impl, std::string resource,
                                        std::uint16_t limit, std::chrono::milliseconds period);
/// Any thread may call the handler; it posts itself to its executor. Without a `wait` it tries
/// once, and that the limit is reached is no error.
REDLOCK_EXPORT void start_limited(const impl_ptr& impl, const limiter_ptr& of, std::uint16_t cost,
                                  std::optional<std::chrono::milliseconds> wait,
                                  limit_handler handler);

REDLOCK_EXPORT void start_limit_change(const impl_ptr& impl, const limiter_ptr& of,
                                       std::uint16_t limit, refusal_handler handler);

}  // namespace redlock::detail

// The boundary between the templates of an asynchronous rate limiter and the compiled library,
// which type-erases handlers.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/detail/initiate.hpp>
#include <redlock/detail/limit_call.hpp>
#include <redlock/limit_answer.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace redlock::detail {

using limit_handler = asio::any_completion_handler<void(error_code, limit_answer)>;

/// As of a client with these options; of one that was moved from, as with the default ones.
REDLOCK_EXPORT limiter_ptr make_limiter(const impl_ptr& impl, std::string resource,
                                        std::uint16_t limit, std::chrono::milliseconds period);
/// Any thread may call the handler; it posts itself to its executor.
REDLOCK_EXPORT void start_limited(const impl_ptr& impl, acquire_flavour flavour,
                                  const limiter_ptr& of, std::chrono::milliseconds wait,
                                  limit_handler handler);

// A class with a constructor, as those of the client are.
class initiate_limited : public initiate {
public:
    initiate_limited(impl_ptr impl, acquire_flavour flavour, limiter_ptr of) noexcept
        : initiate(std::move(impl)), flavour_(flavour), of_(std::move(of)) {}
    template <class Handler>
    void operator()(Handler&& handler, std::chrono::milliseconds wait) const {
        start_limited(impl_, flavour_, of_, wait, homing(std::forward<Handler>(handler)));
    }

private:
    acquire_flavour flavour_;
    limiter_ptr of_;
};

}  // namespace redlock::detail

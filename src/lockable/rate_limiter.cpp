// The rate limiter of programs that block: its answers as values and exceptions.
// SPDX-License-Identifier: MIT
#include <redlock/rate_limiter.hpp>

#include "lockable/mutex.hpp"

#include <utility>

namespace redlock {

using std::chrono::milliseconds;

struct rate_limiter::state {
    blocking_client* client;
    const std::string resource;
    const detail::limiter_ptr limiter;
};

rate_limiter::rate_limiter(blocking_client& client, std::string resource, std::uint16_t limit,
                           milliseconds period) {
    auto made = detail::make_limiter(client.options(), resource, limit, period);
    state_.reset(new state{&client, std::move(resource), std::move(made)});
}

rate_limiter::~rate_limiter() = default;

rate_limiter::answer rate_limiter::try_acquire() {
    auto said = detail::ask_limit(*state_->client, state_->limiter, milliseconds(0), {});
    if (!said && said.why != errc::contended) detail::fail(said.why, state_->resource);
    return said;
}

rate_limiter::answer rate_limiter::acquire_within(milliseconds wait, std::stop_token stop) {
    auto said = detail::ask_limit(*state_->client, state_->limiter, wait, std::move(stop));
    if (!said) detail::fail(said.why, state_->resource);
    return said;
}

}  // namespace redlock

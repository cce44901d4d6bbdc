// The rate limiter of programs that block: its answers as values and exceptions.
// SPDX-License-Identifier: MIT
#include <redlock/rate_limiter.hpp>

#include "lockable/mutex.hpp"

namespace redlock {

using std::chrono::milliseconds;

rate_limiter::rate_limiter(blocking_client& client, std::string resource, std::uint16_t limit,
                           milliseconds period)
    : client_(&client),
      resource_(std::move(resource)),
      limiter_(detail::make_limiter(client.options(), resource_, limit, period)) {}

rate_limiter::answer rate_limiter::try_acquire(std::uint16_t cost) {
    auto said = detail::ask_limit(*client_, limiter_, cost, milliseconds(0), {});
    if (!said && said.why != errc::contended) detail::fail(said.why, resource_);
    return said;
}

void rate_limiter::set_limit(std::uint16_t limit) {
    const auto why = detail::change_limit(*client_, limiter_, limit);
    if (why.code) detail::fail(why, resource_);
}

rate_limiter::answer rate_limiter::acquire_within(std::uint16_t cost, milliseconds wait,
                                                  std::stop_token stop) {
    auto said = detail::ask_limit(*client_, limiter_, cost, wait, std::move(stop));
    if (!said) detail::fail(said.why, resource_);
    return said;
}

}  // namespace redlock

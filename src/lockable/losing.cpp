// How a lockable finds out that a lease was lost.
// SPDX-License-Identifier: MIT
#include "lockable/losing.hpp"

#include <chrono>
#include <future>
#include <stop_token>
#include <utility>

namespace redlock::detail {

namespace {

// How long the client's thread may stand still before a loss is thrown ahead of its token.
constexpr std::chrono::seconds longest_stall{1};

}  // namespace

void await_report(const lease& lost) {
    const std::stop_token token = lost.lost_token();
    if (!token.stop_possible()) return;
    std::promise<void> reported;
    const std::stop_callback on_report(token, [&] { reported.set_value(); });
    reported.get_future().wait_for(longest_stall);
}

// To nodes that did not answer the client sends the release again. A key may be gone since the
// validity ended meanwhile.
bool release_held(blocking_client& client, lease held) {
    const auto valid_until = held.valid_until();
    const auto released = client.release(std::move(held));
    if (released) return true;
    const error_code why = released.error();
    return why != errc::lost && (why != errc::not_held || clock::now() >= valid_until);
}

}  // namespace redlock::detail

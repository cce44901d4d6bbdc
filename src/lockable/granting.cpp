// Acquires for the lockables: refusals become exceptions, or "not now".
// SPDX-License-Identifier: MIT
#include "lockable/granting.hpp"

#include "value/reasons.hpp"
#include "value/text.hpp"

#include <redlock/detail/waiting_time.hpp>

#include <system_error>
#include <utility>

namespace redlock::detail {

void fail(errc why, const std::string& resource, const std::string& detail) {
    throw std::system_error(why,
                            text::lock_named(resource) + (detail.empty() ? "" : ": ") + detail);
}

void fail(const refusal& why, const std::string& resource) {
    const std::string reasons = reasons_of(why);  // what() ends with the text of the code
    throw std::system_error(
        why.code, text::lock_named(resource) + (reasons.empty() ? "" : ": ") + reasons);
}

lease acquire_or_throw(blocking_client& client, const std::string& resource,
                       acquire_options options, std::stop_token stop) {
    if (options.wait == std::chrono::milliseconds(0)) options.wait = longest_wait;
    auto got = client.acquire(resource, options, std::move(stop));
    if (!got) fail(got.error(), resource);
    return std::move(*got);
}

lease acquire_within(std::chrono::milliseconds wait, blocking_client& client,
                     const std::string& resource, acquire_options options, std::stop_token stop) {
    options.wait = wait;
    auto got = client.acquire(resource, options, stop);
    if (got) return std::move(*got);
    if (got.error() == condition::retryable || stop.stop_requested()) return {};
    fail(got.error(), resource);
}

}  // namespace redlock::detail

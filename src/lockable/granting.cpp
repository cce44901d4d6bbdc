// Acquires for the lockables: refusals become exceptions, or "not now".
// SPDX-License-Identifier: MIT
#include "lockable/granting.hpp"

#include "value/reasons.hpp"
#include "value/text.hpp"

#include <redlock/detail/waiting_time.hpp>

#include <system_error>
#include <utility>

namespace redlock::detail {

namespace {

std::string named(const std::string& resource) {
    return "lock \"" + text::printable(resource) + '"';
}

}  // namespace

void fail(errc why, const std::string& resource, const std::string& detail) {
    throw std::system_error(why, named(resource) + (detail.empty() ? "" : ": ") + detail);
}

void fail(const refusal& why, const std::string& resource) {
    const std::string reasons = reasons_of(why);  // what() ends with the text of the code
    throw std::system_error(why.code, named(resource) + (reasons.empty() ? "" : ": ") + reasons);
}

lease acquire_or_throw(blocking_client& client, const std::string& resource,
                       acquire_options options) {
    if (options.wait == std::chrono::milliseconds(0)) options.wait = longest_wait;
    auto got = client.acquire(resource, options);
    if (!got) fail(got.error(), resource);
    return std::move(*got);
}

lease acquire_within(std::chrono::milliseconds wait, blocking_client& client,
                     const std::string& resource, acquire_options options) {
    options.wait = wait;
    auto got = client.acquire(resource, options);
    if (got) return std::move(*got);
    if (got.error() == condition::retryable) return {};
    fail(got.error(), resource);
}

}  // namespace redlock::detail

// What every lockable asks of its client: a lease or an exception; knows no threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/blocking_client.hpp>
#include <redlock/error.hpp>
#include <redlock/lease.hpp>
#include <redlock/options.hpp>
#include <redlock/refusal.hpp>

#include <chrono>
#include <stop_token>
#include <string>

namespace redlock::detail {

/// A lease, after a wait of `options.wait`; where that is 0, of `longest_wait`. Throws
/// `std::system_error` if there is none, also after a stop.
lease acquire_or_throw(blocking_client& client, const std::string& resource,
                       acquire_options options, std::stop_token stop = {});

/// A lease, after `wait` at most; empty if there is none and the same call may succeed later, or a
/// stop was requested. Throws `std::system_error` if it would fail again.
lease acquire_within(std::chrono::milliseconds wait, blocking_client& client,
                     const std::string& resource, acquire_options options,
                     std::stop_token stop = {});

/// Throws `std::system_error` with a text that names the resource, and says more if `detail` does.
[[noreturn]] void fail(errc why, const std::string& resource, const std::string& detail = {});
[[noreturn]] void fail(const refusal& why, const std::string& resource);

}  // namespace redlock::detail

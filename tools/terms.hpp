// What a run asks of its lease, from command line and configuration.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/config.hpp>
#include <redlock/options.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace redlock::tool {

/// The options of `redlock run` as they were given.
struct lease_request {
    std::optional<std::chrono::milliseconds> ttl{};
    std::optional<std::chrono::milliseconds> wait{};
    std::optional<std::chrono::milliseconds> max_hold{};
    std::optional<std::chrono::milliseconds> min_hold{};
    std::optional<std::chrono::milliseconds> margin{};
    bool no_renew = false;
    int slots = 0;        // of which it holds some; 0: the resource itself
    int permits = 1;      // so many of them
    bool shared = false;  // others may hold the lock at the same time, all of them shared
    std::string note{};
};

/// Completes the request from the configuration. The loss margin, in which CMD's process group is
/// ended, is by default a quarter of the ttl, of the longest hold, or 2 s, whichever is least.
/// Returns what is wrong and what would be right; empty when `out` is good. Its note is that of the
/// request, which outlives it.
std::string settle(const lease_request& request, const configuration& from, acquire_options& out);

/// Why a lease can't be prolonged by this ttl, and what would be right; empty where it can.
std::string refuse_ttl(std::chrono::milliseconds ttl, const client_options& client);

}  // namespace redlock::tool

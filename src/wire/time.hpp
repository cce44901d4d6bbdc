// The answers to TIME and PTTL; knows no clock.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/resp/reply.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace redlock::wire {

/// The answer to TIME, in us; nothing where it is none.
std::optional<std::int64_t> read_time(const resp::reply& reply);

/// The answer to PTTL: 0 for a key that is gone, -1 ms for one without expiry, a year at most.
std::chrono::milliseconds read_pttl(std::int64_t answer) noexcept;

}  // namespace redlock::wire

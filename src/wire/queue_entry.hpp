// A waiter in the queues of the nodes; knows no queue.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/time.hpp"

#include <chrono>
#include <cstdint>
#include <string_view>

namespace redlock::wire {

/// A waiter's place in the queues of the nodes.
struct queue_entry {
    std::string_view id;  ///< `client id:number`; the client's channel is found by its first part.
    std::uint64_t ticket = 0;
    duration life{};  ///< Of the entry, from then on; zero: it has none, or leaves.
};

/// An entry that would live for longer counts as dead: it is from before the node's clock went back
/// (shared/queue.lua).
inline constexpr duration longest_entry_life = std::chrono::minutes(1);

}  // namespace redlock::wire

// A waiter in the queues of the nodes; knows no queue.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/quorum.hpp"

#include <cstdint>
#include <string_view>

namespace redlock::wire {

/// A waiter's place in the queues of the nodes.
struct queue_entry {
    std::string_view id;  ///< `client id:number`; the client's channel is found by its first part.
    std::uint64_t ticket = 0;
    duration life{};  ///< Of the entry, from then on; zero: it has none, or leaves.
};

}  // namespace redlock::wire

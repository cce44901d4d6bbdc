// Requests of many waiters in one command, and the answer to each; decides nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/queue_entry.hpp"
#include "wire/resp/reply.hpp"
#include "wire/resp/scripts.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace redlock::wire {

/// One waiter in a command that asks for many. An empty id: it is in no queue; a life of zero: it
/// is not to be entered.
struct wait_request {
    std::string_view key;
    queue_entry entry;
    std::uint16_t slots = 0;  ///< So many the resource has, whose key this is; 0: the key is wanted.
};

/// Asks when the waiters get their keys; it enters them, or keeps their entries alive.
void write_wait(std::string& out, resp::script_form form, std::span<const wait_request> waiters,
                std::string_view key_prefix);

/// The answer to wait.lua for one waiter.
struct wait_answer {
    /// How long it may take until the key is its own; -1 ms where it does not run out by itself.
    std::chrono::milliseconds left{0};
    std::chrono::milliseconds before{0};  ///< For how long others may be before it.
    bool is_foreign = false;              ///< Its value is one that this library never writes.
};
/// Nothing where it is no answer.
std::optional<wait_answer> read_wait(const resp::reply& reply, std::size_t waiter);

}  // namespace redlock::wire

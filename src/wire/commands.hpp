// The commands of the protocol, formatted; knows no answers.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/quorum.hpp"
#include "wire/resp/scripts.hpp"
#include "wire/tail.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace redlock::wire {

using resp::script_form;

/// What a fenced command says of fences, and where they are kept.
struct fence_terms {
    std::uint64_t fence = 0;     ///< That is proposed.
    duration tolerance{};  ///< `core::fence_tolerance`.
    duration life{};       ///< Of a fence on a node after its last use.
    std::string_view key_prefix;
    std::string_view record_key;
};

/// One lease in a command that prolongs many.
struct lease_request {
    std::string_view key;
    std::string_view value;
    duration ttl{};
};

/// A waiter's place in the queues of the nodes.
struct queue_entry {
    std::string_view id;  ///< `client id:number`; the client's channel is found by its first part.
    std::uint64_t ticket = 0;
    duration life{};  ///< Of the entry, from then on; zero: it has none, or leaves.
};

/// One key that is given back.
struct release_request {
    std::string_view key;
    std::string_view value;
    /// Nothing for a plain lock, of which nobody is told.
    std::optional<std::string_view> key_prefix{};
    const queue_entry* entry = nullptr;  ///< This one and the next only with the prefix.
    const fence_terms* raise = nullptr;  ///< So that nothing below can take the key any more.
};

/// One waiter in a command that asks for many. An empty id: it has no place; a life of zero: it is
/// not to be entered.
struct wait_request {
    std::string_view key;
    queue_entry entry;
};

// Each returns what the session has to put behind it. Without `fence_terms` they are the plain
// commands of every Redlock, and touch no other key.
/// With `entry`, which a plain lock can't have: it stands at its ticket.
tail write_acquire(std::string& out, script_form form, const lease_request& lease,
                        const fence_terms* fencing, const queue_entry* entry = nullptr);
tail write_extend(std::string& out, script_form form, std::span<const lease_request> leases,
                       const fence_terms* fencing);
tail write_release(std::string& out, script_form form, const release_request& what);
/// When the waiters get their keys; it enters them, or keeps their entries alive.
void write_wait(std::string& out, script_form form, std::span<const wait_request> waiters,
                std::string_view key_prefix);
/// What a key holds, 128 bytes of it at most: foreign values have no limit. Empty where there is
/// none.
void write_get_front(std::string& out, std::string_view key);
void write_pttl(std::string& out, std::string_view key);
/// The first entries of a queue, one element each: "client:number:until", see shared/queue.lua.
void write_get_queue(std::string& out, std::string_view queue, std::size_t most);

/// Where the fence of a key is kept, and the queue of its waiters.
std::string fence_key(std::string_view key_prefix, std::string_view key);
std::string queue_key(std::string_view key_prefix, std::string_view key);

}  // namespace redlock::wire

// Acquire requests of every kind of lock, and their answers; counts nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/slot.hpp"
#include "value/time.hpp"
#include "wire/failure.hpp"
#include "wire/fenced.hpp"
#include "wire/keys.hpp"
#include "wire/lock_kind.hpp"
#include "wire/queue_entry.hpp"
#include "wire/request.hpp"
#include "wire/resp/reply.hpp"

#include <redlock/options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace redlock::wire {

/// One lease that a request acquires or prolongs.
struct lease_request {
    std::string_view key;
    std::string_view value;
    duration ttl{};
    slot_number slot{};   ///< Of which that is the key.
    more_keys others{};   ///< That it is about besides.
    /// Where the value says that the lease has one. Empty: the one that the node has stays.
    std::string_view note{};
    std::string_view key_prefix{};  ///< Of a plain lock with a note; the terms of others have it.
};
/// The words of `verb`, but for those of a waiter and the note.
void append_lease(const lock_kind& kind, request& out, std::string_view verb,
                  const lease_request& lease, const fence_terms* fencing);

/// The words about the note, which are the last; none where the lease has no note.
void append_note(request& out, const lease_request& lease, const fence_terms* fencing);

/// Of requests.lua, plain.lua, or SET. A fenced kind has `fencing`. With `entry` the waiter stands at
/// its ticket.
void write_acquire(const lock_kind& kind, request& out, const lease_request& lease,
                   const fence_terms* fencing, const queue_entry* entry = nullptr);

/// The answer to an acquire: `SET key value NX PX ttl`, or requests.lua.
struct acquire_answer {
    vote answer = vote::refused;
    failure why{};             ///< When refused; the detail also when held: by whom.
    bool lacks_fence = false;  ///< held: by a value of our form, and there is no fence beside it.
    std::chrono::milliseconds left{0};  ///< held: of the key, where the node tells it.
    std::uint64_t fence = 0;  ///< held, queued, stale: the highest that the node has seen.
    /// held, queued: for how long other waiters may be before us.
    std::chrono::milliseconds before{0};
    bool is_foreign = false;  ///< held: by a value that this library never writes.
    std::size_t holder = 0;   ///< held: differs from value to value.
    std::string note{};       ///< held: of the lease, for people.
    bool fence_is_its = false;  ///< held: the fence shows when the lease was granted.
    /// held, queued, of a slot: a bit for each one that is free, from the lowest of the first byte
    /// on; and how many there are by the smallest number that anybody names.
    std::string free_slots{};
    std::uint16_t slots = 0;
    /// held, queued, of several keys: those that the node will tell of when they can be taken, the
    /// i-th by bit i; and the one that `why` is about.
    std::uint64_t blocked = 0;
    std::size_t which = 0;
};
acquire_answer read_acquire(const lock_kind& kind, const resp::reply& reply);

}  // namespace redlock::wire

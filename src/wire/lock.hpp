// The requests about a lock and their answers: acquire, extend, release, wait.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/node_knowledge.hpp"
#include "core/quorum.hpp"
#include "value/clock.hpp"
#include "value/options.hpp"
#include "wire/failure.hpp"
#include "wire/request.hpp"
#include "wire/resp/command.hpp"
#include "wire/resp/reply.hpp"

#include <redlock/options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace redlock::wire {

/// What a fenced request says of fences.
struct fence_terms {
    std::uint64_t fence = 0;      ///< That is proposed.
    std::string_view key_prefix;  ///< Names where it is kept.
};

/// From a request to take a key: nothing was done, since the node record is another than in the
/// handshake.
bool is_amnesiac(const resp::reply& reply) noexcept;
/// From a request to take a key: nothing was done, since by the node's clock the command was late.
bool is_late(const resp::reply& reply) noexcept;

/// Why a request to take a key was refused by a rule of time or of the node record: AMNESIAC, LATE,
/// or a fence too far ahead. Nothing for any other answer.
std::optional<failure> read_rule_refusal(const resp::reply& reply);

/// From the reply to any command.
core::node_signs read_signs(const resp::reply& reply) noexcept;

/// One lease that a request acquires or prolongs.
struct lease_request {
    std::string_view key;
    std::string_view value;
    duration ttl{};
    slot_number slot{};   ///< Of which that is the key.
    more_keys others{};   ///< That it is about besides.
    std::uint64_t revision = 0;  ///< Of a slot: when the number of slots was set, if it was.
};
/// The words of `verb`, but for those of a waiter.
void append_lease(const lock_kind& kind, request& out, std::string_view verb,
                  const lease_request& lease, const fence_terms* fencing);

/// Of requests.lua, plain.lua, or SET. A fenced kind has `fencing`. With `entry` the waiter stands
/// at its ticket.
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
    std::uint64_t revision = 0;  ///< When that number was set; 0: it was not.
    /// refused, of a slot: no slot may be taken for less than this, which a program names.
    std::chrono::milliseconds period{0};
    /// held, queued, of several keys: those that the node will tell of when they can be taken, the
    /// i-th by bit i; and the one that `why` is about.
    std::uint64_t blocked = 0;
    std::size_t which = 0;
};
acquire_answer read_acquire(const lock_kind& kind, const resp::reply& reply);

/// The answer to a release or an extension: yes, no, or unable with its cause.
struct compare_answer {
    core::choice choice = core::choice::unable;
    failure why{};  // when unable
    /// From an extension: the key was gone. Yes: the node took it again; no: it refused the fence.
    bool was_free = false;
    /// Then the highest fence that the node had seen by then; 0: none was there.
    std::uint64_t fence = 0;
    /// From an extension: an operator took the key from the lease, or another process released it.
    bool is_revoked = false;
};

/// Without `fencing` a key that is gone stays gone. `prolongs_fence`: as well as the key.
void write_extend(const lock_kind& kind, request& out, const lease_request& lease,
                  const fence_terms* fencing, bool prolongs_fence = false);
compare_answer read_extension(const resp::reply& reply);

/// One key that is given back.
struct release_request {
    std::string_view key;
    std::string_view value;
    std::string_view key_prefix{};  ///< The rest is not for a plain lock.
    const queue_entry* entry = nullptr;
    const fence_terms* raise = nullptr;  ///< So that nothing below can take the key any more.
    slot_number slot{};  ///< Of which that is the key.
    more_keys others{};  ///< That are given back with it.
    duration keep{};  ///< For so long the key stays in the way of others; zero: it is deleted.
    bool never_prolongs = false;  ///< It stays no longer than it would without the release.
    bool cuts_fence = false;  ///< The node may keep the fence for longer than it is needed.
    /// For so long no process may take the key again for the value; zero: any may.
    duration note{};
};

/// Compares and deletes, or has the key run out, raises the fence where it has to, and wakes a
/// waiter. Of a reader the key goes with the last of them.
void write_release(const lock_kind& kind, request& out, const release_request& what);
compare_answer read_release(const resp::reply& reply);

/// One waiter in a command that asks for many. An empty id: it is in no queue; a life of zero: it
/// is not to be entered.
struct wait_request {
    std::string_view key;
    queue_entry entry;
    /// So many the resource has, whose key this is; 0: the key is wanted.
    std::uint16_t slots = 0;
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
    std::uint16_t slots = 0;              ///< As in `acquire_answer`.
};
/// Nothing where it is no answer.
std::optional<wait_answer> read_wait(const resp::reply& reply, std::size_t waiter);

}  // namespace redlock::wire

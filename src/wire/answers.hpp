// Replies read as votes: what each answer to each command means; counts nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/quorum/tally.hpp"
#include "wire/failure.hpp"
#include "wire/resp/reply.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::wire {

/// An error reply, or a reply of a kind that the command can't have.
failure read_failure(const resp::reply& reply);

/// The answer to an acquire: `SET key value NX PX ttl`, or acquire.lua.
struct acquire_answer {
    vote answer = vote::refused;
    bool is_amnesiac = false;  ///< The node record is another than in the handshake: no vote.
    failure why{};             ///< When refused; the detail also when held: by whom.
    bool lacks_fence = false;  ///< held: by a value of our form, and there is no fence beside it.
    std::chrono::milliseconds left{0};  ///< held: of the key, where the node tells it.
    std::uint64_t fence = 0;  ///< held, queued, stale: the highest that the node has seen.
    /// held, queued: for how long others may stand before us.
    std::chrono::milliseconds before{0};
    bool is_foreign = false;  ///< held: by a value that this library never writes.
    std::size_t holder = 0;   ///< held: differs from value to value.
};
acquire_answer read_set(const resp::reply& reply);
acquire_answer read_acquire(const resp::reply& reply);

/// The answer to release.lua, or to extend.lua for one lease: yes, no, or unable with its cause.
struct compare_answer {
    core::choice choice = core::choice::unable;
    failure why{};  // when unable
    /// From extend.lua, where it refused the fence: the highest that the node has seen.
    std::uint64_t fence = 0;
};
compare_answer read_release(const resp::reply& reply);
compare_answer read_extension(const resp::reply& reply, std::size_t lease);
/// Nothing was extended: the node record is another than in the handshake.
bool is_amnesiac(const resp::reply& reply) noexcept;
/// From acquire.lua or extend.lua: nothing was done, since by the node's clock the command was
/// late.
bool is_late(const resp::reply& reply) noexcept;

/// The answer to wait.lua for one waiter.
struct wait_answer {
    /// How long it may take until the key is its own; -1 ms where it does not run out by itself.
    std::chrono::milliseconds left{0};
    std::chrono::milliseconds before{0};  ///< For how long others may stand before it.
    bool is_foreign = false;              ///< Its value is one that this library never writes.
};
/// Nothing where it is no answer.
std::optional<wait_answer> read_wait(const resp::reply& reply, std::size_t waiter);

/// The answer to PTTL: 0 for a key that is gone, -1 ms for one without expiry, a year at most.
std::chrono::milliseconds read_pttl(std::int64_t answer) noexcept;

/// The answer to TIME, in us; nothing where it is none.
std::optional<std::int64_t> read_time(const resp::reply& reply);

/// Whether a key's value is an owner value as this library writes them: 22 characters of base64url,
/// "@" and a name.
bool is_of_our_form(std::string_view value) noexcept;

/// A key's value as it may be shown: who holds it, but not enough to act as them.
std::string abbreviate_owner(std::string_view value);

}  // namespace redlock::wire

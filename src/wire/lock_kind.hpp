// The kinds of lock, as data: which keys a request of each names, and which words; decides nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/keys.hpp"
#include "wire/request.hpp"

#include <array>
#include <initializer_list>
#include <string_view>

namespace redlock::wire {

/// All that the operations know of a kind. `write_acquire`, `write_extend` and `write_release` write
/// the requests of all kinds by this. Another kind brings one of these, its rules in lua/, and the
/// option by which callers ask for it.
///
/// Kinds exclude each other on a node without knowing each other: each takes the key of the
/// resource only where that is free, and gives back, or prolongs, only what holds its own value.
struct lock_kind {
    /// Behind the words of its requests: "acquire", "await", "extend", "hold", "release", "leave",
    /// "keep".
    std::string_view suffix{};
    /// A grant leaves a fence beside the key, and waiters stand in a queue there. What takes the key
    /// names the node record, a time limit and a fence.
    bool is_fenced = true;
    /// Several may hold the key at once, all of this kind.
    bool is_shared = false;
    /// A request is about several keys, and says about how many.
    bool is_of_several = false;
    /// The key is that of a slot. Its queue, and the set that goes with it, are the resource's.
    bool has_slot = false;
    /// It is acquired by a command of the server's own, without a script.
    bool is_plain_set = false;
    /// The set that goes with the key; null where there is none.
    companion_key (*set_of)(std::string_view key_prefix, std::string_view key) = nullptr;
};

/// The lock of every Redlock library: `SET key value NX PX ttl`, compare-and-delete and
/// compare-and-expire. It touches no other key, and its users need no right to one.
inline constexpr lock_kind plain_lock{.is_fenced = false, .is_plain_set = true};
inline constexpr lock_kind fenced_lock{};
/// Of readers, which share the key of a fenced lock.
inline constexpr lock_kind shared_lock{.suffix = "_share", .is_shared = true, .set_of = readers_of};
/// Of a lease that has several keys at once, or none of them; and the same without fences.
inline constexpr lock_kind set_lock{.suffix = "_all", .is_of_several = true};
inline constexpr lock_kind plain_set_lock{
    .suffix = "_all", .is_fenced = false, .is_of_several = true};
/// Of a lease that has one of the slots of a resource, each a fenced lock with a key of its own.
inline constexpr lock_kind slot_lock{.suffix = "_slot", .has_slot = true, .set_of = slots_of};

/// A test takes, prolongs and gives back a lock of each of these.
inline constexpr std::array all_kinds{&plain_lock, &fenced_lock,    &shared_lock,
                                      &set_lock,   &plain_set_lock, &slot_lock};

/// The keys that a request of this kind names, with their fences, queues and set.
void append_keys(request& out, const lock_kind& kind, std::string_view key_prefix,
                 std::string_view key, more_keys others);

/// Words of a request, counted. The first is a verb, with the kind's suffix, and says whether the lease
/// has a note.
void append_verb(request& out, const lock_kind& kind, std::string_view verb, bool has_note);
void append(request& out, std::initializer_list<std::string_view> words);

}  // namespace redlock::wire

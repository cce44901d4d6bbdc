// What all requests to a node share: keys, kinds of lock, words, and the command that carries a
// turn's requests.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/lease.hpp"
#include "value/clock.hpp"
#include "value/memory.hpp"
#include "value/options.hpp"
#include "wire/resp/command.hpp"

#include <boost/container/small_vector.hpp>

#include <array>
#include <charconv>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::wire {

/// One request of a script that does many (`wire::batch`), or a command of its own.
struct request {
    std::string keys;         ///< That it reads and writes, encoded: with their fences, if any.
    std::string queues;       ///< Of the waiters for them.
    std::string set;          ///< That goes with it: of readers, or of slots; empty for others.
    std::string words;        ///< Encoded: the verb and its arguments; or the whole command.
    /// Encoded: a command of newer servers that does the same; or nothing. What it answers is read
    /// as the script's answer.
    std::string command;
    std::uint32_t count = 0;  ///< Of the words; 0: a command of its own.
    std::uint32_t locks = 1;  ///< Of the keys, not counting what goes with them.
    /// How long the node is to keep them; zero: it takes and prolongs none.
    duration keeps_for{};

    bool is_command() const noexcept { return count == 0; }
    std::size_t size() const noexcept {
        return keys.size() + queues.size() + set.size() + words.size() + command.size();
    }
    void clear() noexcept {
        keys.clear();
        queues.clear();
        set.clear();
        words.clear();
        command.clear();
        count = 0;
        locks = 1;
        keeps_for = {};
    }
};

/// A number, written out without an allocation.
class decimal {
public:
    explicit decimal(std::integral auto number) {
        end_ = std::to_chars(text_.data(), text_.data() + text_.size(), number).ptr;
    }
    operator std::string_view() const noexcept {
        return {text_.data(), static_cast<std::size_t>(end_ - text_.data())};
    }

private:
    std::array<char, 24> text_;
    char* end_;
};

/// How many whole `Unit`s.
template <class Unit>
auto in(duration d) { return std::chrono::duration_cast<Unit>(d).count(); }

/// What the node is to compare before it lets any key be taken.
struct batch_conditions {
    std::string_view epoch;             ///< Of the node record; empty: not compared.
    std::optional<std::int64_t> until;  ///< In us of the node's clock; nothing: no limit.
};

/// Collects requests, and writes them as one call of requests.lua, or of plain.lua, in the order in
/// which they were added. The node does them at once, one after the other, and each has its answer.
class batch {
public:
    /// A server does nothing else while a script runs: requests for so many keys take less than a
    /// millisecond, but for rare ones (docs/performance.md).
    static constexpr std::size_t most = 64;

    /// With fences: `record_key` is the key of the node record. Without: it is empty.
    explicit batch(std::string record_key) : record_key_(std::move(record_key)) {}

    bool empty() const noexcept { return size_ == 0; }
    bool has_room_for(const request& what) const noexcept { return locks_ + what.locks <= most; }
    std::size_t size() const noexcept { return size_; }
    std::size_t bytes() const noexcept {
        return keys_.size() + queues_.size() + sets_.size() + words_.size();
    }

    /// Preconditions: it has room for it, and the request is not a command of its own.
    void add(const request& what);
    /// Appends the command to `out`, and is empty then. Precondition: it was not empty.
    void write(std::string& out, resp::script_form form, const batch_conditions& when,
               const core::fence_limits& limits);
    void clear() noexcept;

private:
    std::string record_key_;
    std::string keys_;
    std::string queues_;
    std::string sets_;
    std::string words_;
    std::size_t size_ = 0;
    std::size_t locks_ = 0;
    std::size_t word_count_ = 0;
    std::size_t set_count_ = 0;
};

/// The keys behind the first, of a request for several keys at once.
using more_keys = std::span<const redlock::detail::recycled_string>;

/// The name of a key that belongs to another. Allocates only for very long ones.
class companion_key {
public:
    companion_key(std::string_view key_prefix, std::string_view key, std::string_view what,
                  std::string_view of = {}) {
        for (const std::string_view part :
             {key_prefix, std::string_view("{"), key, std::string_view("}:"), what, of}) {
            text_.insert(text_.end(), part.begin(), part.end());
        }
    }
    operator std::string_view() const noexcept { return {text_.data(), text_.size()}; }

private:
    boost::container::small_vector<char, 128> text_;
};

/// Where the fence of a key is kept, the queue of its waiters, the set of the readers that have it,
/// the set of its slots that are taken, and the values that may not take it again.
inline companion_key fence_of(std::string_view key_prefix, std::string_view key) {
    return {key_prefix, key, "fence"};
}
inline companion_key queue_of(std::string_view key_prefix, std::string_view key) {
    return {key_prefix, key, "queue"};
}
inline companion_key readers_of(std::string_view key_prefix, std::string_view key) {
    return {key_prefix, key, "readers"};
}
inline companion_key slots_of(std::string_view key_prefix, std::string_view key) {
    return {key_prefix, key, "slots"};
}
inline companion_key revoked_of(std::string_view key_prefix, std::string_view key) {
    return {key_prefix, key, "revoked"};
}
/// Where the last runs under a lock are on record.
inline companion_key last_of(std::string_view key_prefix, std::string_view key) {
    return {key_prefix, key, "last"};
}
/// What the key of a slot ends with.
inline std::string slot_suffix(std::size_t slot) { return '#' + std::to_string(slot); }
/// The key of a resource, or of one of its slots.
inline redlock::detail::recycled_string lock_key(std::string_view key_prefix,
                                                 std::string_view resource, slot_number slot) {
    const std::string suffix = slot.of > 0 ? slot_suffix(slot.number) : "";
    redlock::detail::recycled_string whole;
    whole.reserve(key_prefix.size() + resource.size() + suffix.size());
    whole.append(key_prefix).append(resource).append(suffix);
    return whole;
}
/// The keys of all resources behind the first.
inline std::vector<redlock::detail::recycled_string> other_keys(
    std::string_view key_prefix, std::span<const std::string> resources) {
    std::vector<redlock::detail::recycled_string> keys;
    keys.reserve(resources.size() - 1);
    for (const std::string& one : resources.subspan(1)) {
        keys.push_back(lock_key(key_prefix, one, {}));
    }
    return keys;
}
/// The keys of these slots of a resource that has `of`.
inline std::vector<redlock::detail::recycled_string> slot_keys(
    std::string_view key_prefix, std::string_view resource, std::span<const std::uint16_t> slots,
    std::uint16_t of) {
    std::vector<redlock::detail::recycled_string> keys;
    keys.reserve(slots.size());
    for (const std::uint16_t one : slots) keys.push_back(lock_key(key_prefix, resource, {one, of}));
    return keys;
}
/// The key of the resource of which that is the key of a slot.
inline std::string_view without_slot(std::string_view slot_key) noexcept {
    return slot_key.substr(0, slot_key.rfind('#'));
}
inline std::string fence_key(std::string_view key_prefix, std::string_view key) {
    return std::string(std::string_view(fence_of(key_prefix, key)));
}
inline std::string queue_key(std::string_view key_prefix, std::string_view key) {
    return std::string(std::string_view(queue_of(key_prefix, key)));
}
inline std::string readers_key(std::string_view key_prefix, std::string_view key) {
    return std::string(std::string_view(readers_of(key_prefix, key)));
}
/// Where the node record is kept.
inline std::string record_key(std::string_view key_prefix) {
    return std::string(key_prefix) + "redlock:node";
}
/// Not a key: the channel on which a client is woken.
inline std::string wake_channel(std::string_view key_prefix, std::string_view client_id) {
    return std::string(key_prefix).append("redlock:wake:").append(client_id);
}

/// All that the operations know of a kind. `write_acquire`, `write_extend` and `write_release`
/// write the requests of all kinds by this. Another kind brings one of these, its rules in lua/,
/// and the option by which callers ask for it.
///
/// Kinds exclude each other on a node without knowing each other: each takes the key of the
/// resource only where that is free, and gives back, or prolongs, only what holds its own value.
struct lock_kind {
    /// Behind the words of its requests: "acquire", "await", "extend", "hold", "release", "leave",
    /// "keep".
    std::string_view suffix{};
    /// A grant leaves a fence beside the key, and waiters stand in a queue there. What takes the
    /// key names the node record, a time limit and a fence.
    bool is_fenced = true;
    /// Several may hold the key at once, all of this kind.
    bool is_shared = false;
    /// A request is about several keys, and says about how many.
    bool is_of_several = false;
    /// The key is that of a slot. Its queue, and the set that goes with it, are the resource's.
    /// A request may be about several slots of one resource.
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

/// Words of a request, counted. The first is a verb, with the kind's suffix.
void append_verb(request& out, const lock_kind& kind, std::string_view verb);
void append(request& out, std::initializer_list<std::string_view> words);
/// Its number, with those of the other keys, and of how many, and when that was set.
void append_slots(request& out, const slot_number& slot, more_keys others,
                  std::uint64_t revision = 0);

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

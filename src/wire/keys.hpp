// The names of all keys that the library keeps on a node; knows nothing of what they hold.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/recycled_string.hpp"
#include "value/slot.hpp"

#include <boost/container/small_vector.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::wire {

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
/// The note of the lease that holds the key: its owner value, a line feed, and the text.
inline companion_key note_of(std::string_view key_prefix, std::string_view key) {
    return {key_prefix, key, "note"};
}
/// That of a reader, of which several hold the key. Each note is a key of its own, and so runs out
/// when its reader's lease does, and is written and deleted without a look at the others.
inline companion_key reader_note_of(std::string_view key_prefix, std::string_view key,
                                    std::string_view value) {
    return {key_prefix, key, "note:", value};
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

}  // namespace redlock::wire

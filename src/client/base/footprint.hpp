// What an attempt, or the lease it became, may have left on the nodes; sends nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/base/rare.hpp"
#include "core/lock/traces.hpp"
#include "value/node_mask.hpp"
#include "value/recycled_string.hpp"
#include "value/slot.hpp"
#include "value/time.hpp"
#include "wire/acquire.hpp"
#include "wire/lock_kind.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// A place in the queues of some nodes.
struct place_in_queue {
    std::string id;
    std::uint64_t ticket = 0;
    node_mask nodes{};  ///< Where an entry may be.
};

/// What most have not.
struct uncommon_traces {
    std::vector<recycled_string> others{};  ///< Of several keys those behind the first.
    place_in_queue place{};                 ///< Of the waiter that it is of.
    std::string note{};  ///< Empty where it has none, or only another process knows it.
};

/// The traces of it, and under which key, value and place in the queues.
struct footprint : core::traces {
    const wire::lock_kind* kind = nullptr;
    recycled_string key;
    recycled_string value;  ///< It says whether the lease has a note.
    slot_number slot{};     ///< Of which that is the key.
    rare<uncommon_traces> also{};

    /// The node let the waiter out of its queue.
    void left_queue_of(std::size_t node) {
        if (!also->place.nodes.contains(node)) return;
        also.edit().place.nodes.erase(node);
        if (also->place.nodes.empty()) also.edit().place = {};
        if (also->place.nodes.empty() && also->others.empty() && also->note.empty()) also = {};
    }

    /// To acquire it, or to prolong it.
    wire::lease_request request(duration ttl, std::string_view key_prefix) const noexcept {
        return {key, value, ttl, slot, also->others, also->note, key_prefix};
    }
};

}  // namespace redlock::detail

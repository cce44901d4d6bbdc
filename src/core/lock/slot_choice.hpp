// Which slot of a resource to ask for; knows no key.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/node_mask.hpp"
#include "value/quorum.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace redlock::core {

/// A slot is a lock of its own, so an acquire asks all nodes for one and the same. Nodes that refuse
/// it name those that are free there. The next try asks for a slot that may be free on a quorum,
/// of these for one that is taken on the fewest nodes. Among several it draws one at random, so
/// that many acquires that try at once do not meet at one slot.
class slot_choice {
public:
    /// So many tries follow each other at once. More would be those of a crowd that finds each slot
    /// taken by the time it asks for it.
    static constexpr unsigned most_in_a_row = 8;

    slot_choice() = default;
    slot_choice(const node_lists& nodes, std::uint16_t slots) noexcept
        : nodes_(nodes), slots_(slots) {}

    /// A wake-up named this slot as free. The next try asks for it, unless this client gave one back
    /// or the nodes' answers to the last try name free slots.
    void suggest(std::uint16_t slot) noexcept {
        if (slot < slots_) suggested_ = slot;
    }
    /// Returns the slot to ask for in the next try, and forgets what the nodes answered to earlier
    /// tries. `freed`: a slot that this client gave back, and for which no other try asks; it is
    /// returned if there is one.
    std::uint16_t draw(std::uint64_t random, std::optional<std::uint16_t> freed = std::nullopt);
    /// A node refused the try: a bit for each slot that is free there, of `slots` that it counts.
    void refused(std::size_t node, std::string_view free, std::uint16_t slots);
    /// The try was refused: whether another may find a free slot at once.
    bool is_another_free() const noexcept;
    /// It waits, or is over: the row of tries has ended.
    void rest() noexcept { in_a_row_ = 0; }

    /// The smallest number of slots that any node named, and this program.
    std::uint16_t counted() const noexcept { return counted_ != 0 ? counted_ : slots_; }

private:
    bool may_be_free(node_mask taken) const noexcept;
    std::vector<std::uint16_t> least_taken() const;

    node_lists nodes_;
    std::uint16_t slots_ = 0;
    std::uint16_t counted_ = 0;
    std::vector<node_mask> taken_;  // on these nodes, by slot; empty: no node named any
    std::optional<std::uint16_t> suggested_;
    unsigned in_a_row_ = 0;
};

}  // namespace redlock::core

// When the nodes are looked at for resources that are watched, and which of these are inspected;
// sends nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/clock.hpp"
#include "value/nodes.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::core {

/// How long a client that watches so many resources waits between two looks: an eighth of a second
/// on average, and a quarter where none of them has changed for 12.5 s or more, with all between
/// the two; longer where so many would keep a node busy for more than a twentieth of its time.
/// `quiet`: since the last change. `random`: a word, so that clients do not look all at once.
duration until_next_look(std::size_t resources, duration quiet, std::uint64_t random) noexcept;

/// The nodes to inspect a resource on: all but those that leave looks without an answer, unless
/// there are fewer than a quorum of others. A node that hangs would hold each inspection up until
/// its time is over.
node_mask worth_inspecting(const node_lists& nodes, node_mask silent) noexcept;

/// Whether a node counts as silent that has not answered a look for so long.
inline bool is_silent(duration waiting, duration round_trip) noexcept {
    return waiting > std::max<duration>(std::chrono::milliseconds(50), 4 * round_trip);
}

/// One resource that is watched. Each look has a number, higher than the one
/// before. What a look shows that was sent before an inspection, the inspection sees as well, since
/// a node answers in order.
class watched {
public:
    /// So long after an inspection whose answers left the holder open another one follows.
    static constexpr duration until_again = std::chrono::milliseconds(500);

    /// The node's answer to a look: an inspection is due if it is another one than before.
    void showed(std::size_t node, std::uint64_t digest, std::uint64_t look) noexcept;
    /// It may have changed, or somebody knows nothing of it yet.
    void ask() noexcept { is_due_ = true; }
    /// The node's answer to a look was an error: without looks, only inspections show a change.
    void is_hidden(time_point now) noexcept { again_at_ = std::min(again_at_, now + until_again); }
    void on_time(time_point now) noexcept {
        if (now < again_at_) return;
        again_at_ = time_point::max();
        is_due_ = true;
    }

    bool wants_inspection() const noexcept { return is_due_ && !is_inspected_; }
    bool is_inspected() const noexcept { return is_inspected_; }
    /// `look`: the number of the last look that was sent.
    void inspection_begins(std::uint64_t look, time_point now) noexcept;
    /// `is_conclusive`: the nodes that did not answer could not change what the others say.
    void inspection_ends(bool is_conclusive) noexcept;

private:
    std::array<std::uint64_t, max_nodes> digests_{};  // by the last look that a node answered
    node_mask known_;                                 // the nodes that have answered one
    std::uint64_t covered_ = 0;  // the looks up to this one are older than the last inspection
    time_point inspected_at_{};  // when the last inspection began
    time_point again_at_ = time_point::max();  // when one is due in any case
    bool is_due_ = false;        // another one than that which is under way
    bool is_inspected_ = false;  // now
};

}  // namespace redlock::core

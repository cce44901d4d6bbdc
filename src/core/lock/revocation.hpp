// What an operator's revocation removes: which values of which keys, under which fence.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/resource_state.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace redlock::core {

/// First the nodes report the values that hold each key. Those whose owners the operator has seen
/// are then revoked on all nodes. A holder that came later keeps the lock.
class revocation {
public:
    /// A value of a key, as a node reports it.
    struct held_value {
        std::string whole;     ///< Abbreviated values may collide.
        std::string owner;     ///< Abbreviated, without the mark of a kept key.
        bool is_kept = false;  ///< Its lease was released: see `acquire_options::min_hold`.

        bool operator<(const held_value& other) const noexcept { return whole < other.whole; }
    };
    /// The key of the resource, or of one of its slots.
    struct target {
        std::optional<std::uint16_t> slot{};
        std::set<std::string> owners{};    ///< Abbreviated, as the operator has seen them.
        std::set<std::string> values{};    ///< Of these owners: to be revoked.
        std::vector<held_value> others{};  ///< Of holders that came later.
    };
    /// How two values are shown that name no owner.
    struct nameless_owners {
        std::string empty;
        std::string readers;
    };
    enum class phase : std::uint8_t { none, look, revoke, over };

    revocation() = default;
    revocation(const resource_state& shown, const nameless_owners& names);

    /// Goes on to the next phase; to `over` at once where the operator has seen no owner.
    phase advance();
    phase state() const noexcept { return phase_; }
    const std::vector<target>& targets() const noexcept { return targets_; }
    /// Whether the nodes are queried about the target in this phase.
    bool is_due(std::size_t target) const;

    /// The highest fence that a node has seen, or that was raised to. A fence that no client can
    /// have drawn is not `plausible`, and is raised to on no other node.
    std::uint64_t fence() const noexcept { return fence_; }
    void note_fence(std::uint64_t fence, bool plausible) noexcept;

    /// In `look`: a node reports a value of the target.
    void saw(std::size_t target, held_value what);
    /// In `revoke`: a node removed a value, or reports one that still holds the key.
    void removed(held_value what);
    void remains(held_value what);
    /// When it is over: names the owners in `to`.
    void report(redlock::revocation& to) const;

private:
    void add_whole(const resource_state& shown, const nameless_owners& names);

    std::vector<target> targets_;
    std::set<held_value> removed_;
    std::set<held_value> remaining_;
    std::uint64_t fence_ = 0;
    phase phase_ = phase::none;
};

}  // namespace redlock::core

// Who holds a resource, as the nodes tell it; knows nothing of how they are asked.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/error.hpp>
#include <redlock/export.hpp>
#include <redlock/vote.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock {

/// What one node says about a resource.
enum class key_state : std::uint8_t { free, held, shared, quarantine, refused, timed_out,
                                      unreachable };

REDLOCK_EXPORT std::string_view to_string(key_state s) noexcept;

struct node_state {
    node_name node{};
    key_state state = key_state::unreachable;
    std::string owner{};                    ///< Abbreviated: who, but not enough to act as them.
    std::chrono::milliseconds ttl{0};       ///< What is left of the key; -1 ms: no expiry.
    std::uint64_t fence = 0;                ///< Highest fence this node knows; 0: none.
    error_code error{};
    std::string detail{};                   ///< The server's own words where it answered an error.
};

struct resource_state {
    std::string resource{};
    bool held = false;                      ///< A quorum of nodes holds the key of one owner.
    std::string owner{};                    ///< Abbreviated; empty when not held.
    /// Of the lease that holds it, as far as a node that granted it still has it; where nobody
    /// holds it the highest that any node knows. 0: none known, or held with another library.
    std::uint64_t fence = 0;
    /// How long ago the lease was first granted, where the fence tells it.
    std::optional<std::chrono::milliseconds> held_for{};
    /// Time until too few keys are left for a quorum, if nobody renews; -1 ms: never.
    std::chrono::milliseconds valid_for{0};
    /// How many clients wait for it: the largest number that any node knows of, 1,000 at most. Each
    /// client counts once, for the first of its acquires. 0 without `fencing`, which has no queue.
    std::size_t waiting = 0;
    /// The place of this client among them: 1 is next. Empty where it does not wait.
    std::optional<std::size_t> place{};
    std::size_t quorum = 0;
    bool decided = false;                   ///< A quorum of nodes answered at all.
    std::vector<node_state> nodes{};        ///< In the order of the configuration.
};

}  // namespace redlock

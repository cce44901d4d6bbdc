// Which owner holds a resource, by the nodes' answers; sends no command.
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
#include <utility>
#include <vector>

namespace redlock {

/// What one node answered about a resource, or why there is no answer. `kept`: the lease was
/// released, and the key stays for the rest of its `acquire_options::min_hold`.
enum class key_state : std::uint8_t { free, held, shared, quarantine, refused, timed_out,
                                      unreachable, kept };

REDLOCK_EXPORT std::string_view to_string(key_state s) noexcept;

/// How an owner value, such as `redlock run` gives to its command in REDLOCK_OWNER, stands in what
/// follows: enough to recognise the holder, and too little to act as it.
REDLOCK_EXPORT std::string abbreviate_owner(std::string_view value);

struct node_state {
    node_name node{};
    key_state state = key_state::unreachable;
    /// Abbreviated, so that it can't release the lock. If kept: of the lease that was released.
    std::string owner{};
    std::chrono::milliseconds ttl{0};       ///< Remaining ttl of the key; -1 ms: no expiry.
    std::uint64_t fence = 0;                ///< Highest fence that this node has stored; 0: none.
    error_code error{};
    std::string detail{};                   ///< The server's error text, or more about `error`.
    /// If shared: the readers, abbreviated as `owner` is; the 1,000 that hold it longest at most.
    std::vector<std::string> readers{};
    std::string note{};                     ///< If held: as `resource_state::note`, by this node.
};

/// Why the node did not answer as it should, in words; empty if it did.
REDLOCK_EXPORT std::string problem_of(const node_state& node);

/// What `client::async_list` looks for.
struct list_query {
    list_query() = default;
    list_query(std::string with_prefix) : prefix(std::move(with_prefix)) {}
    list_query(const char* with_prefix) : prefix(with_prefix) {}

    std::string prefix{};      ///< With which the resources begin.
    bool leases_only = false;  ///< Without strings that are no lease of this library.
};

/// One slot of a resource that is held: see `acquire_options::slots`.
struct slot_state {
    std::uint16_t number = 0;
    std::string owner{};                    ///< Abbreviated.
    std::uint64_t fence = 0;                ///< As `resource_state::fence`, of this slot.
    std::chrono::milliseconds valid_for{0};  ///< As `resource_state::valid_for`, of this slot.
    bool kept = false;                      ///< As `resource_state::kept`, of this slot.
    std::string note{};                     ///< As `resource_state::note`, of this slot.
};

struct resource_state {
    std::string resource{};
    /// On a quorum of nodes the key has the same owner, or is shared by readers.
    bool held = false;
    /// On a quorum of nodes the key is kept for the same lease, which was released: see
    /// `key_state`. Nobody holds it, and nobody is granted it before `valid_for` is over.
    bool kept = false;
    /// Abbreviated; empty if shared, or neither held nor kept.
    std::string owner{};
    /// If held: the `acquire_options::note` of the lease; at most `max_note_bytes` of it, and with
    /// what it may not contain escaped byte by byte. Empty: none.
    std::string note{};
    std::vector<std::string> readers{};     ///< If shared: those that a quorum of nodes names.
    /// The note of each of `readers`, in their order; empty where no reader has a note.
    std::vector<std::string> reader_notes{};
    /// Those of its slots that have the same owner on a quorum of nodes, or are kept there, in
    /// their order. The resource itself is another lock than its slots: `held` and `owner` say
    /// nothing of them.
    std::vector<slot_state> slots{};
    /// So many slots there are: the smallest number that programs name. 0: none names any.
    std::uint16_t slot_count = 0;
    /// If held: the fence of the lease, if a node that granted it still stores it. If not held:
    /// the highest fence on any node. If shared: the highest on the nodes that say so. 0: no fence
    /// is known, or another library holds the lock.
    std::uint64_t fence = 0;
    /// How long ago the lease was first granted; empty if the fence does not show it, or shared.
    std::optional<std::chrono::milliseconds> held_for{};
    /// If held or kept: time until fewer than a quorum of the keys remain, if they are not renewed;
    /// -1 ms: never.
    std::chrono::milliseconds valid_for{0};
    /// How many clients wait for it: the longest queue on any node, at most 1,000. Each client
    /// counts once, for the first of its waiters. 0 without `fencing`, since there are no queues
    /// then.
    std::size_t waiting = 0;
    /// The place of this client in the queue: 1 is next. Empty if it does not wait.
    std::optional<std::size_t> place{};
    std::size_t quorum = 0;
    std::size_t quorum_after = 0;           ///< Of the new list of a joint one; else 0.
    bool decided = false;                   ///< At least a quorum of nodes answered.
    std::vector<node_state> nodes{};        ///< In the order of the configuration.
};

/// What `client::async_revoke` did.
struct revocation {
    std::vector<std::string> revoked{};     ///< The owners whose key was taken, abbreviated.
    /// The owners whose key was kept after they released their lease, and is free now.
    std::vector<std::string> freed{};
    std::vector<std::string> holders{};     ///< The owners that hold a key now, abbreviated.
    /// One per node: granted where none of the owners in `shown` holds it, or can take it again.
    std::vector<node_vote> votes{};
};

}  // namespace redlock

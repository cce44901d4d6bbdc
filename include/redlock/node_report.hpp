// What an operator should know of one node; asks no node.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/error.hpp>
#include <redlock/event.hpp>
#include <redlock/export.hpp>
#include <redlock/list_state.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock {

/// What may be wrong with a node. Later versions may add kinds: a switch over them needs a default.
enum class node_problem : std::uint8_t {
    unreachable,         ///< No connection, or no answer.
    auth_failed,         ///< It refuses the user name or the password.
    missing_right,       ///< The user may not run a command, or not on our keys or channels.
    not_master,          ///< It is a replica.
    duplicate_node,      ///< Another node of the list is the same server.
    clock_skew,          ///< Its clock stepped, or is too far from the others.
    other_set,           ///< It belongs to another set of nodes than this list.
    in_quarantine,       ///< It restarted without its data, and may not vote yet.
    slow,                ///< Its round trip is longer than `node_timeout`.
    other_ttl_max,       ///< Another client has another `ttl_max`.
    evicts_locks,        ///< It deletes keys at its memory limit, or would if it had one.
    forgets_at_restart,  ///< A restart may lose data, and costs it its vote for `ttl_max`.
    memory_nearly_full,  ///< 90 % of its memory limit or more is used.
    has_replicas,        ///< Replicas are attached: it counts as not durable.
    no_hash_tag,         ///< It is in cluster mode, and the key prefix has no hash tag.
    no_vote,             ///< It has no vote for another reason.
    refuses_writes,      ///< It grants no lock: a failed save, too few replicas, no memory.
    save_failed,         ///< Its last snapshot failed: it may come to refuse writes.
    list_changes,        ///< A list change is under way, or was given up: `node_report::list`.
    clocks_went_back,    ///< The clocks of all nodes did: fences go on ahead of them.
    hangs_on_all,        ///< It votes only while all nodes answer, until any lock is taken.
    durable_by_word,     ///< The configuration says that it is durable, and it can't be checked.
};

REDLOCK_EXPORT std::string_view to_string(node_problem what) noexcept;

struct node_finding {
    node_problem problem{};
    /// error: the node does not vote, or locks in its hands are in danger. warning: it votes, but
    /// should be looked at.
    redlock::severity severity = redlock::severity::warning;
    std::string text{};  ///< What was found, what it does to locks, and what to do; no secret.
};

/// The state of one node, as `client::async_probe` found it. What the node did not say is empty.
struct node_report {
    std::string name{};       ///< As in votes and events.
    bool is_reachable = false;
    bool has_vote = false;
    std::string version{};    ///< Of the server.
    std::string role{};       ///< "master" or "slave".
    std::optional<bool> has_log{};     ///< appendonly
    std::string fsync{};               ///< appendfsync
    std::string eviction_policy{};     ///< maxmemory-policy
    std::uint64_t memory_used = 0;     ///< In bytes.
    std::uint64_t memory_limit = 0;    ///< maxmemory, in bytes; 0: none.
    std::uint64_t replicas = 0;        ///< That are attached.
    bool is_cluster = false;           ///< The server is in cluster mode.
    /// How far its clock is ahead of the median of the nodes' clocks; nothing where that is
    /// unknown.
    std::optional<std::chrono::microseconds> clock_offset{};
    std::chrono::microseconds round_trip{0};      ///< That the probe took.
    std::chrono::milliseconds node_timeout{0};    ///< That this client gives the node.
    std::chrono::milliseconds ttl_max{0};         ///< On its record; 0: none is known.
    list_standing list{};                         ///< As to a change of the list of nodes.
    /// Commands that this user may not run, and the patterns of keys ("~lock:*") and channels
    /// ("&lock:redlock:wake:*") that it may not use.
    std::vector<std::string> missing_rights{};
    std::vector<node_finding> findings{};         ///< Empty: the node is healthy.
};

}  // namespace redlock

// Finds the settings of a server that endanger locks although it may vote; asks no server.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/resp/reply.hpp"

#include <redlock/event.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// What a server says of its memory and of its persistence. What it does not say stays empty.
struct server_settings {
    std::string eviction_policy{};      ///< maxmemory-policy
    std::uint64_t memory_limit = 0;     ///< maxmemory, in bytes; 0: none.
    std::uint64_t memory_used = 0;      ///< In bytes.
    std::optional<bool> has_log{};      ///< appendonly
    std::string fsync{};                ///< appendfsync
    bool skips_fsync = false;           ///< While the log is rewritten.
    bool has_failed_save = false;       ///< The last snapshot failed.
    bool has_failed_log = false;        ///< The last write to the log failed.
    std::string good_replicas{};        ///< Of those that a write needs, where it needs any.

    /// Whether each write is on disk before it is answered, also while the log is rewritten.
    bool syncs_always() const { return fsync == "always" && !skips_fsync; }
};

/// From the answer to INFO.
server_settings read_settings(std::string_view info);
/// Adds the answer to CONFIG GET *appendfsync*.
void add_fsync(server_settings& to, const resp::reply& config);

struct concern {
    enum class kind : std::uint8_t {
        evicts_locks,        ///< It deletes keys at its memory limit.
        may_evict_locks,     ///< It would, but has no limit yet.
        forgets_at_restart,  ///< A restart may lose data.
        memory_nearly_full,  ///< 90 % of the limit or more.
    };
    kind what{};
    redlock::severity severity{};
    std::string text{};  ///< What was found, what it does to locks, and what to do about it.
};

/// In the order of `concern::kind`; none for settings that are not known. `is_guarded`: the restart
/// guard is on, so a node that forgot has no vote for `ttl_max`; without it such a node votes at
/// once.
std::vector<concern> find_concerns(const server_settings& of, bool is_guarded,
                                   std::chrono::milliseconds ttl_max);

}  // namespace redlock::detail

// What in a server's settings endangers the locks on it though it may vote; asks no server.
// SPDX-License-Identifier: MIT
#pragma once

#include "resp/reply.hpp"

#include <redlock/event.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::net {

/// What a server says of its memory and of how it writes its data down. What it does not say, or
/// refuses to, stays empty.
struct server_settings {
    std::string eviction_policy{};      ///< maxmemory-policy
    std::uint64_t memory_limit = 0;     ///< maxmemory, in bytes; 0: none.
    std::uint64_t memory_used = 0;      ///< In bytes.
    std::optional<bool> has_log{};      ///< appendonly
    std::string fsync{};                ///< appendfsync
    bool skips_fsync = false;           ///< While the log is rewritten.

    /// Each write is on disk before it is answered, also while the log is rewritten.
    bool syncs_always() const { return fsync == "always" && !skips_fsync; }
};

/// From the answer to INFO.
server_settings read_settings(std::string_view info);
/// Adds the answer to CONFIG GET *appendfsync*.
void add_fsync(server_settings& to, const resp::reply& config);

struct concern {
    enum class kind : std::uint8_t {
        evicts_locks,        ///< At its memory limit it deletes keys.
        may_evict_locks,     ///< It would, and has no limit yet.
        forgets_at_restart,
        memory_nearly_full,  ///< 90 % of the limit or more.
    };
    kind what{};
    redlock::severity severity{};
    std::string text{};  ///< What was found, what it does to locks, and what to do about it.
};

/// In the order of `concern::kind`. Without the restart guard (`is_guarded`) a node that forgot votes
/// at once; with it it has no vote for `ttl_max`. Nothing is said of what is not known.
std::vector<concern> find_concerns(const server_settings& of, bool is_guarded,
                                   std::chrono::milliseconds ttl_max);

}  // namespace redlock::net

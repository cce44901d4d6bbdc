// The settings of a server that endanger locks although it may vote.
// SPDX-License-Identifier: MIT
#include "client/node/concerns.hpp"

#include "value/text.hpp"
#include "wire/info.hpp"

#include <algorithm>
#include <charconv>

namespace redlock::detail {

namespace {

using kind = concern::kind;

constexpr std::uint64_t nearly_full_percent = 90;

std::uint64_t number(std::string_view text) noexcept {
    std::uint64_t value = 0;
    const auto end = text.data() + text.size();
    return std::from_chars(text.data(), end, value).ptr == end ? value : 0;
}

bool evicts(const server_settings& s) {
    return !s.eviction_policy.empty() && s.eviction_policy != "noeviction";
}

// Computed in a double and capped: the server may answer any number.
std::uint64_t percent_used(const server_settings& s) {
    if (s.memory_limit == 0) return 0;
    const double share =
        static_cast<double>(s.memory_used) / static_cast<double>(s.memory_limit);
    return static_cast<std::uint64_t>(100.0 * std::min(share, 1'000.0));
}

// The first setting by which a restart may lose data; empty where there is none, or where the
// settings are not known.
std::string forgetful_setting(const server_settings& s) {
    if (s.has_log == false) return "appendonly is no";
    if (!s.has_log || s.fsync.empty() || s.syncs_always()) return {};
    if (s.fsync != "always") return "appendfsync is " + text::printable(s.fsync);
    return "no-appendfsync-on-rewrite is yes";
}

std::string about_eviction(const server_settings& s) {
    const std::string found = "maxmemory-policy is " + text::printable(s.eviction_policy);
    const std::string remedy = "; set maxmemory-policy noeviction";
    if (s.memory_limit == 0) {
        return found + ": once the server has a maxmemory it deletes keys there, locks among them" +
               remedy;
    }
    return found + ": at maxmemory (" + std::to_string(s.memory_limit) +
           " bytes) the server deletes keys, and a lock among them is free for others while its "
           "holder still relies on it" +
           remedy;
}

std::string about_restart(const std::string& setting, bool is_guarded,
                          std::chrono::milliseconds ttl_max) {
    const std::string remedy =
        "set appendonly yes, appendfsync always and no-appendfsync-on-rewrite no";
    if (is_guarded) {
        return setting + ": each restart costs this node its vote for ttl_max (" +
               text::brief(ttl_max) + "), since it may have forgotten locks; to have it vote at "
                                      "once, " +
               remedy;
    }
    return setting + ": a restart may forget locks, and without the restart guard this node then "
                     "grants them again at once; turn on fencing and restart_guard, or " +
           remedy;
}

std::string about_memory(const server_settings& s) {
    return "used_memory is " + std::to_string(percent_used(s)) + " % of maxmemory (" +
           std::to_string(s.memory_limit) + " bytes): beyond it the server " +
           (evicts(s) ? "deletes keys, locks among them" : "refuses to grant locks") +
           "; raise maxmemory, or keep other data elsewhere";
}

}  // namespace

server_settings read_settings(std::string_view info) {
    server_settings s;
    s.eviction_policy = wire::field(info, "maxmemory_policy");
    s.memory_limit = number(wire::field(info, "maxmemory"));
    s.memory_used = number(wire::field(info, "used_memory"));
    s.has_failed_save = wire::field(info, "rdb_last_bgsave_status") == "err";
    s.has_failed_log = wire::field(info, "aof_last_write_status") == "err";
    s.good_replicas = wire::field(info, "min_slaves_good_slaves");
    if (const auto log = wire::field(info, "aof_enabled"); !log.empty()) s.has_log = log == "1";
    return s;
}

void add_fsync(server_settings& to, const resp::reply& config) {
    for (std::size_t i = 0; i + 1 < config.size(); i += 2) {
        if (config[i].text() == "appendfsync") to.fsync = config[i + 1].text();
        if (config[i].text() == "no-appendfsync-on-rewrite") {
            to.skips_fsync = config[i + 1].text() != "no";
        }
    }
}

std::vector<concern> find_concerns(const server_settings& of, bool is_guarded,
                                   std::chrono::milliseconds ttl_max) {
    std::vector<concern> found;
    if (evicts(of)) {
        const bool is_idle = of.memory_limit == 0;
        found.push_back({is_idle ? kind::may_evict_locks : kind::evicts_locks,
                         is_idle ? severity::info : severity::warning, about_eviction(of)});
    }
    if (const auto setting = forgetful_setting(of); !setting.empty()) {
        found.push_back({kind::forgets_at_restart,
                         is_guarded ? severity::info : severity::warning,
                         about_restart(setting, is_guarded, ttl_max)});
    }
    if (percent_used(of) >= nearly_full_percent) {
        found.push_back({kind::memory_nearly_full, severity::warning, about_memory(of)});
    }
    return found;
}

}  // namespace redlock::detail

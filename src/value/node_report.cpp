// The names of what may be wrong with a node, and what its keys take as a text.
// SPDX-License-Identifier: MIT
#include <redlock/node_report.hpp>

#include "value/text.hpp"

#include <utility>

namespace redlock {

std::string_view to_string(node_problem what) noexcept {
    switch (what) {
        case node_problem::unreachable: return "unreachable";
        case node_problem::auth_failed: return "auth_failed";
        case node_problem::missing_right: return "missing_right";
        case node_problem::not_master: return "not_master";
        case node_problem::duplicate_node: return "duplicate_node";
        case node_problem::clock_skew: return "clock_skew";
        case node_problem::other_set: return "other_set";
        case node_problem::in_quarantine: return "in_quarantine";
        case node_problem::slow: return "slow";
        case node_problem::other_ttl_max: return "other_ttl_max";
        case node_problem::evicts_locks: return "evicts_locks";
        case node_problem::forgets_at_restart: return "forgets_at_restart";
        case node_problem::memory_nearly_full: return "memory_nearly_full";
        case node_problem::has_replicas: return "has_replicas";
        case node_problem::no_hash_tag: return "no_hash_tag";
        case node_problem::no_vote: return "no_vote";
        case node_problem::refuses_writes: return "refuses_writes";
        case node_problem::save_failed: return "save_failed";
        case node_problem::keys_fill_memory: return "keys_fill_memory";
        case node_problem::list_changes: return "list_changes";
    }
    return "unknown";
}

key_usage key_memory::total() const noexcept {
    key_usage all;
    for (const key_usage* one :
         {&locks, &fences, &queues, &readers, &slots, &revocations, &notes}) {
        all.count += one->count;
        all.bytes += one->bytes;
    }
    return all;
}

std::string to_string(const key_memory& of) {
    const std::pair<std::string_view, const key_usage&> kinds[] = {
        {"locks", of.locks},     {"fences", of.fences}, {"queues", of.queues},
        {"readers", of.readers}, {"slots", of.slots},   {"revocations", of.revocations},
        {"notes", of.notes}};
    std::string out;
    for (const auto& [name, usage] : kinds) {
        if (usage.count == 0) continue;
        out += (out.empty() ? "" : ", ") + std::string(name) + ' ' + std::to_string(usage.count) +
               " (" + text::bytes(usage.bytes) + ")";
    }
    return out.empty() ? "no keys" : out;
}

}  // namespace redlock

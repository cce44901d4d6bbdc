// Requests that take a key from its holders, and their answers; decides nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/slot.hpp"
#include "value/time.hpp"
#include "wire/resp/reply.hpp"
#include "wire/resp/scripts.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::wire {

/// One key of one node; see revoke.lua.
struct revocation_request {
    std::string_view key;
    std::string_view key_prefix;
    std::optional<std::uint16_t> slot{};     ///< Of which that is the key.
    bool is_fenced = true;                   ///< Otherwise the rest but `values` does not count.
    std::uint64_t fence = 0;                 ///< That it is raised to.
    duration fence_life{};
    duration revoked_life{};                 ///< For so long the values can't take the key again.
    const std::set<std::string>* values{};   ///< To revoke; null: nothing is changed.
};
void write_revocation(std::string& out, resp::script_form form, const revocation_request& what);

struct revocation_answer {
    std::uint64_t fence = 0;           ///< The highest that the node has seen.
    std::vector<std::string> revoked;  ///< The values that held the key until now.
    std::vector<std::string> holders;  ///< The values that hold it.
};
/// Nothing where it is no such answer.
std::optional<revocation_answer> read_revocation(const resp::reply& reply);

}  // namespace redlock::wire

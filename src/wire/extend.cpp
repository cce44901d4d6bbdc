// Extend requests and their answers.
// SPDX-License-Identifier: MIT
#include "wire/extend.hpp"

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace redlock::wire {

void write_extend(const lock_kind& kind, request& out, const lease_request& lease,
                  const fence_terms* fencing, bool prolongs_fence) {
    assert(fencing != nullptr || !prolongs_fence);
    append_lease(kind, out, prolongs_fence ? "hold" : "extend", lease, fencing);
    append_note(out, lease, fencing);
}

compare_answer read_extension(const resp::reply& reply) {
    if (reply.type() == resp::reply_type::integer) {
        if (reply.integer() == 1) return {.choice = core::choice::yes};
        if (reply.integer() == 0 || reply.integer() == -1) return {.choice = core::choice::no};
        if (reply.integer() == -2) return {.choice = core::choice::no, .is_revoked = true};
    }
    if (auto why = read_rule_refusal(reply)) return {.why = *why};
    const bool is_stale = reply[0].type() == resp::reply_type::integer && reply[0].integer() == 4;
    if (!is_stale) return {.why = read_failure(reply)};
    const std::int64_t seen = std::max<std::int64_t>(reply[1].integer(), 0);
    return {.choice = core::choice::no, .fence = static_cast<std::uint64_t>(seen)};
}

}  // namespace redlock::wire

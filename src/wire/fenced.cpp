// What all requests for a fenced key have in common.
// SPDX-License-Identifier: MIT
#include "wire/fenced.hpp"

namespace redlock::wire {

bool is_amnesiac(const resp::reply& reply) noexcept {
    return reply.type() == resp::reply_type::status && reply.text() == "AMNESIAC";
}

bool is_late(const resp::reply& reply) noexcept {
    return reply.type() == resp::reply_type::status && reply.text() == "LATE";
}

std::optional<failure> read_rule_refusal(const resp::reply& reply) {
    if (is_amnesiac(reply)) {
        return failure{vote::quarantine, errc::in_quarantine, "it has lost its data"};
    }
    if (is_late(reply)) {
        return failure{vote::refused, errc::clock_skew,
                       "by its clock the command came too late: it stood still, or its clock was "
                       "set"};
    }
    if (reply[0].type() == resp::reply_type::integer && reply[0].integer() == 5) {
        return failure{vote::refused, errc::clock_skew, "the fence is too far ahead of its clock"};
    }
    return std::nullopt;
}

core::node_signs read_signs(const resp::reply& reply) noexcept {
    return {.is_late = is_late(reply),
            .is_amnesiac = is_amnesiac(reply),
            .is_replica = reply.is_error("READONLY")};
}

}  // namespace redlock::wire

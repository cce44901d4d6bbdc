// What all commands that can take a key have in common.
// SPDX-License-Identifier: MIT
#include "wire/fenced.hpp"

namespace redlock::wire {

bool is_amnesiac(const resp::reply& reply) noexcept {
    return reply.type() == resp::reply_type::status && reply.text() == "AMNESIAC";
}

bool is_late(const resp::reply& reply) noexcept {
    return reply.type() == resp::reply_type::status && reply.text() == "LATE";
}

core::node_signs read_signs(const resp::reply& reply) noexcept {
    return {.is_late = is_late(reply),
            .is_amnesiac = is_amnesiac(reply),
            .is_replica = reply.is_error("READONLY")};
}

}  // namespace redlock::wire

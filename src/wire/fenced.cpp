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

}  // namespace redlock::wire

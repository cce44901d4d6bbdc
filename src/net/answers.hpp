// Replies read as votes: what each answer to each command means; counts nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/poll.hpp"
#include "net/call.hpp"
#include "resp/reply.hpp"

#include <string>
#include <string_view>

namespace redlock::net {

/// An error reply, or a reply of a kind that the command can't have.
failure read_failure(const resp::reply& reply);

/// The answer to `SET key value NX PX ttl`.
struct set_answer {
    vote answer = vote::refused;
    failure why;  // when refused
};
set_answer read_set(const resp::reply& reply);

/// The answer to compare-and-delete or compare-and-expire: yes, no, or unable with its cause.
struct compare_answer {
    core::ballot ballot = core::ballot::unable;
    failure why;  // when unable
};
compare_answer read_compare(const resp::reply& reply);

/// A key's value as it may be shown: who holds it, but not enough to act as them.
std::string abbreviate_owner(std::string_view value);

}  // namespace redlock::net

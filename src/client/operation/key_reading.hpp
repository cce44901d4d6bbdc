// What a node's answers about one key say of its holder; asks nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/failure.hpp"
#include "wire/resp/reply.hpp"

#include <redlock/resource_state.hpp>

#include <string>

namespace redlock::detail {

/// The questions: the key's value, its ttl, and its fence.
enum class key_question : std::uint8_t { value, ttl, fence };

/// Notes an answer in `node`, and the whole value in `value`, since abbreviated ones may collide.
/// Where the node refused a question, its first answer says all.
void note_answer(node_state& node, std::string& value, key_question what, const resp::reply& reply);
void note_failure(node_state& node, const wire::failure& why);

}  // namespace redlock::detail

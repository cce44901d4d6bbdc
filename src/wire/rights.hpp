// Which commands a user may not run on our keys and channels, as it is asked and answered.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/resp/reply.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace redlock::wire {

/// One EVAL, which runs each command that the library's scripts use, in a form that changes nothing.
/// `is_fenced`: else only those that plain locks need.
void write_rights_check(std::string& out, std::string_view key_prefix, std::string_view channel,
                        bool is_fenced);
/// One EVALSHA of a script that no node has: whether the user may send it.
void write_evalsha_check(std::string& out);
/// The commands that were refused, in lower case. A user who may not run scripts lacks "eval".
std::vector<std::string> read_rights(const resp::reply& reply);
/// Whether a node refused a command for want of a right.
bool is_forbidden(const resp::reply& reply) noexcept;

}  // namespace redlock::wire

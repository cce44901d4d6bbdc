// The commands that log in and name a connection, and what their refusals mean; opens none.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/failure.hpp"
#include "wire/resp/reply.hpp"

#include <redlock/options.hpp>

#include <optional>
#include <string>

namespace redlock::wire {

/// AUTH, if there is a password for the node. Returns whether there is.
bool append_auth(std::string& out, const node_options& node);
/// CLIENT SETNAME: a courtesy, which an ACL may forbid.
void append_name(std::string& out, const client_options& client);

/// Why AUTH failed, or why a command without it was refused; secrets never appear.
failure read_auth_refusal(const resp::reply& error);
/// What a server says before it has read anything, and hangs up; nothing where it is not that.
std::optional<failure> read_turned_away(const resp::reply& error);

}  // namespace redlock::wire

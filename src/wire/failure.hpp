// Errors, INFO and TIME of a server, and the rights that a user lacks.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/resp/reply.hpp"

#include <redlock/error.hpp>
#include <redlock/vote.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::wire {

struct failure {
    vote answer = vote::unreachable;  ///< refused, timed_out or unreachable
    error_code error;
    std::string detail;
    bool is_unsent = false;  ///< The node was sent nothing.
};

/// An error reply, or a reply of a kind that the command can't have.
failure read_failure(const resp::reply& reply);

/// Of a server whose first bytes begin no reply: of what kind it is, and what to do. `why` is what
/// the parser says.
std::string tell_of_other_server(std::string_view first_bytes, std::string_view why);
/// What to do where a server does not know a command; empty where these words say nothing of that.
std::string_view remedy_for_unknown_command(std::string_view words) noexcept;

/// One EVAL, which does what a lock needs: it writes and deletes a key of its own, which would run
/// out by itself, publishes to a channel of nobody's, and runs each other command that the
/// library's scripts use in a form that changes nothing. `is_fenced`: else only those that plain
/// locks need.
void write_trial(std::string& out, std::string_view key_prefix, std::string_view channel,
                 bool is_fenced);
/// One EVALSHA of a script that no node has: whether the user may send it.
void write_evalsha_check(std::string& out);
/// Loads a script that the node has: a handshake would find only after a restart that it may not.
void write_load_check(std::string& out);

struct trial {
    std::vector<std::string> missing;  ///< Rights, as `missing_right` names them; each once.
    /// What the server answered to the write, where it refuses it to every user.
    std::string refused_write;
};
trial read_trial(const resp::reply& reply, std::string_view key_prefix);

/// Whether a node refused a command, or a command of a script, for want of a right.
bool is_forbidden(std::string_view words) noexcept;
/// What a user lacks whom a node refused with these words: a command, or a pattern as ACL SETUSER
/// takes it: "get", "~lock:*" or "&lock:redlock:wake:*". `command` is the one that was tried; where
/// it is empty, the words have to name it. Empty where nothing names it.
std::string missing_right(std::string_view words, std::string_view key_prefix,
                          std::string_view command = {});
/// What to do about it: "give this user +get".
std::string remedy_for(std::string_view words, std::string_view key_prefix,
                       std::string_view command = {});
/// The same of what was found to be missing.
std::string remedy_for_missing(const std::vector<std::string>& missing,
                               std::string_view key_prefix);

/// The answer to TIME, in us; nothing where it is none.
std::optional<std::int64_t> read_time(const resp::reply& reply);

/// The answer to PTTL: 0 for a key that is gone, -1 ms for one without expiry, a year at most.
std::chrono::milliseconds read_pttl(std::int64_t answer) noexcept;

/// The value of one "name:value" line of INFO; empty where there is none.
inline std::string_view field(std::string_view info, std::string_view name) noexcept {
    for (std::size_t at = 0; at < info.size();) {
        const std::size_t end = std::min(info.find("\r\n", at), info.size());
        const std::string_view line = info.substr(at, end - at);
        if (line.starts_with(name) && line.substr(name.size()).starts_with(':')) {
            return line.substr(name.size() + 1);
        }
        at = end + 2;
    }
    return {};
}

}  // namespace redlock::wire

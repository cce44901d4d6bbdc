// The exit statuses of the command, and the line and status that a refused acquire comes to.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/refusal.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace redlock::tool {

enum exit_status : int {
    success = 0,
    contended = 120,       ///< Another holder kept the resource until the wait was over.
    no_quorum = 121,       ///< Too few nodes could vote.
    lease_lost = 122,      ///< The lease was lost and CMD stopped.
    not_held = 123,        ///< The token is no proof of a lease that is held.
    no_sign = 124,         ///< CMD gave no sign of life and was stopped.
    own_failure = 125,     ///< Configuration, usage, or the system refused something.
    not_executable = 126,  ///< CMD was found but could not be run.
    not_found = 127,       ///< There is no such CMD.
    signalled = 128,       ///< Plus the signal's number.
};

/// Thrown to end the command with a status, when all has been said and no client is there.
struct ending {
    int status;
};

inline constexpr const char* used_for_something_else =
    "the key is used for something else: choose another RESOURCE, or another \"key_prefix\" in "
    "every client's configuration";

inline constexpr const char* remedy_of_rights =
    "log in as a user that may, or give this one the rights that redlock doctor names";

/// Whether a node refused it because the user may not do that.
bool lacks_right(const error_code& why, std::string_view detail);
/// Whether the key of a resource has what no version of redlock wrote.
bool has_other_data(const error_code& why, std::string_view detail);
/// What is said behind the error where this program has no descriptor left; else nothing.
std::string_view remedy_of_limit(const error_code& why);

/// What is to be done about the nodes, where no quorum could vote.
std::string remedy_of_nodes(const refusal& why);
/// Of a key that stands without end.
std::string remedy_of_no_expiry(const std::string& resource);

/// Whether other holders, or what is kept after them, were in the way, all of which ends by itself.
bool is_ordinary_contention(const refusal& why);

/// Complains, and returns the exit status. `detail`: that of the event `refused`.
/// `contended`: the status where another holder was in the way.
int explain(const refusal& why, const std::vector<std::string>& resources, std::string_view detail,
            int contended);

}  // namespace redlock::tool

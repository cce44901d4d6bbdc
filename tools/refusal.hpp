// What an acquire that was refused comes to: a line with the remedy, and an exit status.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/refusal.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace redlock::tool {

inline constexpr const char* used_for_something_else =
    "the key is used for something else: choose another RESOURCE, or another \"key_prefix\" in "
    "every client's configuration";

inline constexpr const char* remedy_of_rights =
    "log in as a user that may, or give this one the rights that redlock doctor names";

/// Whether a node refused it because the user may not do that.
bool lacks_right(const error_code& why, std::string_view detail);

/// Whether other holders, or what is kept after them, were in the way, all of which ends by itself.
bool is_ordinary_contention(const refusal& why);

/// Complains, and returns the exit status. `detail`: that of the event `refused`.
/// `contended`: the status where another holder was in the way.
int explain(const refusal& why, const std::vector<std::string>& resources, std::string_view detail,
            int contended);

}  // namespace redlock::tool

// The names of how a node stands in a change of the list.
// SPDX-License-Identifier: MIT
#include <redlock/list_state.hpp>

namespace redlock {

std::string_view to_string(list_state what) noexcept {
    switch (what) {
        case list_state::unknown: return "unknown";
        case list_state::empty: return "empty";
        case list_state::member: return "member";
        case list_state::joining: return "joining";
        case list_state::closed: return "closed";
        case list_state::changed: return "changed";
        case list_state::behind: return "behind";
        case list_state::other: return "other";
    }
    return "unknown";
}

}  // namespace redlock

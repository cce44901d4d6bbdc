// How a node stands in a change of the list, as a text.
// SPDX-License-Identifier: MIT
#include "tools/list_text.hpp"

#include "tools/duration.hpp"

#include <string>

namespace redlock::tool {

namespace {

std::string_view meaning(list_state what) {
    switch (what) {
        case list_state::unknown: return "not reached";
        case list_state::empty: return "has no record yet";
        case list_state::member: return "of the old list";
        case list_state::joining: return "joining";
        case list_state::closed: return "closed: it takes only programs with the joint list";
        case list_state::changed: return "of the new list";
        case list_state::behind: return "missed a change, and is to follow";
        case list_state::other: return "of another list";
    }
    return "unknown";
}

}  // namespace

std::string to_text(const list_standing& of) {
    std::string out(meaning(of.state));
    if (of.number != 0) out += ", after " + std::to_string(of.number) +
                               (of.number == 1 ? " change" : " changes");
    if (of.settles_in.count() > 0) {
        out += "; counts for programs with the new list alone in " + format_duration(of.settles_in);
    }
    return out;
}

}  // namespace redlock::tool

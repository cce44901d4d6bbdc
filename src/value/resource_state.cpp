// What a node says about a resource, as text; knows nothing of the queries.
// SPDX-License-Identifier: MIT
#include <redlock/resource_state.hpp>

namespace redlock {

std::string_view to_string(key_state s) noexcept {
    switch (s) {
        case key_state::free: return "free";
        case key_state::held: return "held";
        case key_state::shared: return "shared";
        case key_state::quarantine: return "quarantine";
        case key_state::refused: return "refused";
        case key_state::timed_out: return "timed_out";
        case key_state::unreachable: return "unreachable";
        case key_state::kept: return "kept";
    }
    return "unknown";
}

std::string problem_of(const node_state& node) {
    std::string out = node.error ? node.error.message() : "";
    if (!node.detail.empty()) out += (out.empty() ? "" : ": ") + node.detail;
    return out;
}

}  // namespace redlock

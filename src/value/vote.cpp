// Votes as text; knows nothing of how they are counted.
// SPDX-License-Identifier: MIT
#include <redlock/vote.hpp>

#include "value/text.hpp"

namespace redlock {

std::string_view to_string(vote v) noexcept {
    switch (v) {
        case vote::pending: return "pending";
        case vote::granted: return "granted";
        case vote::held: return "held";
        case vote::queued: return "queued";
        case vote::stale: return "stale";
        case vote::quarantine: return "quarantine";
        case vote::refused: return "refused";
        case vote::timed_out: return "timed_out";
        case vote::unreachable: return "unreachable";
    }
    return "unknown";
}

std::string format(const node_vote& v) {
    std::string out = text::printable(v.node) + ": " + text::cause(v);
    if (v.elapsed.count() > 0) out += " (" + text::brief(v.elapsed) + ")";
    return out;
}

}  // namespace redlock

// The reasons of a loss as text; knows nothing of how they are found out.
// SPDX-License-Identifier: MIT
#include <redlock/loss.hpp>

namespace redlock {

std::string_view to_string(loss reason) noexcept {
    switch (reason) {
        case loss::expired: return "expired";
        case loss::taken: return "taken";
        case loss::unreachable: return "unreachable";
        case loss::max_hold: return "max_hold";
        case loss::stalled: return "stalled";
    }
    return "unknown";
}

}  // namespace redlock

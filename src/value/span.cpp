// The kinds of spans as text; knows nothing of when they begin and end.
// SPDX-License-Identifier: MIT
#include <redlock/span.hpp>

namespace redlock {

std::string_view to_string(span_kind kind) noexcept {
    switch (kind) {
        case span_kind::acquire: return "acquire";
        case span_kind::adopt: return "adopt";
        case span_kind::attempt: return "attempt";
        case span_kind::hold: return "hold";
        case span_kind::renewal: return "renewal";
        case span_kind::extend: return "extend";
        case span_kind::downgrade: return "downgrade";
        case span_kind::release: return "release";
    }
    return "unknown";
}

}  // namespace redlock

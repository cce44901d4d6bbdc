// Whether a text has a part.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace redlock::testing {

inline bool has_text(std::string_view text, std::string_view part) {
    return text.find(part) != text.npos;
}

}  // namespace redlock::testing

// What a judge says of a history; knows no rule.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/clock.hpp>

#include <functional>
#include <string>

namespace redlock::judge {

struct violation {
    std::string text;
    std::string resource;  ///< Empty: of no single one.
    clock::time_point at{};
    bool rests_on_assumptions = false;  ///< Not promised while a quorum forgets.
};
using reporter = std::function<void(violation)>;

}  // namespace redlock::judge

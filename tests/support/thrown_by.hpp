// The code of the exception that a call ends with.
// SPDX-License-Identifier: MIT
#pragma once

#include <system_error>

namespace redlock::testing {

/// None if it returns.
template <class F>
std::error_code thrown_by(F&& f) {
    try {
        f();
    } catch (const std::system_error& e) {
        return e.code();
    }
    return {};
}

}  // namespace redlock::testing

// A refusal without the text of its code, for those that say that themselves.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/refusal.hpp>

#include <string>

namespace redlock::detail {

/// Empty where there is nothing to be said but the code.
std::string reasons_of(const refusal& r);

}  // namespace redlock::detail

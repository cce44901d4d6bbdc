// The known name that a mistyped one may have meant; knows no option.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace redlock::config {

/// The name of `known` that is nearest to `word`, by insertions, deletions, replacements and swaps
/// of neighbours; empty when none is near. Letter case and '-' for '_' cost nothing.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

/// "is not known; did you mean "x"?", or the list of what is known.
std::string unknown_name(std::string_view word, std::span<const std::string_view> known);

}  // namespace redlock::config

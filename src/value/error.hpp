// Error codes, votes and refusals: their names and texts.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/error.hpp>
#include <redlock/refusal.hpp>

#include <string>

namespace redlock::detail {

/// Defined beside the transport, which is what meets them.
bool is_broken_connection(const error_code& code) noexcept;

/// Empty where there is nothing to be said but the code.
std::string reasons_of(const refusal& r);

}  // namespace redlock::detail

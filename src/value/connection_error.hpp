// Which errors of the system mean that there is no way to a node; knows no node.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/error.hpp>

namespace redlock::detail {

/// Defined beside the transport, which is what meets them.
bool is_broken_connection(const error_code& code) noexcept;

}  // namespace redlock::detail

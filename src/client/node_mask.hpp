// Nodes as bits; knows nothing of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/options.hpp>

#include <cstdint>

namespace redlock::detail {

using node_mask = std::uint32_t;
static_assert(max_nodes <= 32);
inline constexpr node_mask all_nodes = ~node_mask{0};

}  // namespace redlock::detail

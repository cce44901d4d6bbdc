// How many of the nodes are a quorum.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/vote.hpp>

#include <cstddef>

namespace redlock {

constexpr std::size_t quorum(std::size_t nodes) noexcept { return quorum_of(nodes); }

}  // namespace redlock

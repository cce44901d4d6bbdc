// The marks of nodes in a list that changes; knows no node.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace redlock {

/// What a list says of a node while the list changes. One with such marks is a joint list: without
/// its joining nodes it is the old one, without its leaving nodes the new one. A program with a
/// joint list holds a lock by a majority of each. See `client::async_commit`.
enum class list_change : std::uint8_t {
    none,     ///< The node stays.
    joining,  ///< It is of the new list only.
    leaving,  ///< It is of the old list only.
};

}  // namespace redlock

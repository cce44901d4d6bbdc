// The arguments of a command that differ from node to node, and so are appended last.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace redlock::wire {

/// What a node's session appends to a command's own arguments, whose count includes it already: the
/// epoch of the record that this client read on that node, and the time of the node's clock after
/// which the command may not take a key. Nothing else differs from node to node.
enum class tail : std::uint8_t { none, epoch, epoch_and_limit };

/// How many arguments a tail is.
constexpr std::size_t word_count(tail end) noexcept { return static_cast<std::size_t>(end); }

}  // namespace redlock::wire

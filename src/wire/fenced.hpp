// What all commands that can take a key have in common; knows none in particular.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/node/node_signs.hpp"
#include "value/quorum.hpp"
#include "wire/resp/reply.hpp"

#include <cstdint>
#include <string_view>

namespace redlock::wire {

/// What a fenced command says of fences, and where they are kept.
struct fence_terms {
    std::uint64_t fence = 0;     ///< That is proposed.
    duration tolerance{};        ///< `core::fence_tolerance`.
    duration life{};             ///< Of a fence on a node after its last use.
    std::string_view key_prefix;
    std::string_view record_key;
};

/// From acquire.lua or extend.lua: nothing was done, since the node record is another than in the
/// handshake.
bool is_amnesiac(const resp::reply& reply) noexcept;
/// From acquire.lua or extend.lua: nothing was done, since by the node's clock the command was
/// late.
bool is_late(const resp::reply& reply) noexcept;

/// From the reply to any command.
core::node_signs read_signs(const resp::reply& reply) noexcept;

}  // namespace redlock::wire

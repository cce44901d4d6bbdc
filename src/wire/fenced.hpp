// What all requests for a fenced key have in common; knows none in particular.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/node/node_signs.hpp"
#include "wire/failure.hpp"
#include "wire/resp/reply.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace redlock::wire {

/// What a fenced request says of fences.
struct fence_terms {
    std::uint64_t fence = 0;      ///< That is proposed.
    std::string_view key_prefix;  ///< Names where it is kept.
};

/// From a request to take a key: nothing was done, since the node record is another than in the
/// handshake.
bool is_amnesiac(const resp::reply& reply) noexcept;
/// From a request to take a key: nothing was done, since by the node's clock the command was late.
bool is_late(const resp::reply& reply) noexcept;

/// Why a request to take a key was refused by a rule of time or of the node record: AMNESIAC, LATE,
/// or a fence too far ahead. Nothing for any other answer.
std::optional<failure> read_rule_refusal(const resp::reply& reply);

/// From the reply to any command.
core::node_signs read_signs(const resp::reply& reply) noexcept;

}  // namespace redlock::wire

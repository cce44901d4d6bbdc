// The request by which a client that watches resources finds those that may have changed.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/resp/reply.hpp"
#include "wire/resp/scripts.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace redlock::wire {

/// So many keys one command looks at: about a tenth of a millisecond of the node's time.
inline constexpr std::size_t most_looked_at = 64;

/// At most `most_looked_at` keys; see seldom/look.lua. `has_companions`: of locks with fences.
void write_look(std::string& out, resp::script_form form, std::span<const std::string_view> keys,
                std::string_view key_prefix, bool has_companions);
/// The digest of what the node has of the i-th of `count` keys. Nothing where it is no answer.
std::optional<std::uint64_t> read_look(const resp::reply& reply, std::size_t i, std::size_t count);

}  // namespace redlock::wire

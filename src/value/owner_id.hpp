// Owner values as the caller, a node and a log see them.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/owner_id.hpp>

#include <array>
#include <string_view>

namespace redlock::text {

/// Base64url without padding.
std::array<char, 22> whole(const owner_id& id) noexcept;

/// The inverse. What is no base64url counts as "A".
owner_id read_whole(std::string_view text) noexcept;

/// Behind the owner value in a key that stays in the way of others once its lease was released.
inline constexpr std::string_view kept_mark = "#kept";
/// Begins what is said beside the owner, where the node has another number of slots on record.
inline constexpr std::string_view slots_mark = "another program counts ";
/// Behind that of a lease that has a note: the mark, the note, and the end.
inline constexpr std::string_view note_mark = "#note=";
inline constexpr char note_end = '.';

}  // namespace redlock::text

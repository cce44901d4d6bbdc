// Which keys of the library lie beside those of locks; knows no node.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace redlock::detail {

/// What a key is, by its name. The key of a lock is all that is none of the others.
enum class key_role : std::uint8_t { lock, fence, queue, readers, slots, revoked, note };
inline constexpr std::size_t key_roles = 7;

/// With what their names end, from the brace on; the notes of readers have an owner value behind it.
std::string_view ending_of(key_role role) noexcept;

/// Of the key that `prefix` and `rest` make up.
key_role role_of(std::string_view prefix, std::string_view rest) noexcept;
/// Whether that key ends so.
bool key_ends_with(std::string_view prefix, std::string_view rest,
                   std::string_view ending) noexcept;

}  // namespace redlock::detail

// The value of a key, read for whose it is; knows no key.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace redlock::wire {

/// Whether a key's value is an owner value as this library writes them: 22 characters of base64url,
/// "@" and a name.
bool is_of_our_form(std::string_view value) noexcept;
/// Whether it is a value that this library never writes. No value is none.
bool is_foreign(std::string_view value) noexcept;

/// A key's value as it may be shown: who holds it, but not enough to act as them.
std::string abbreviate_owner(std::string_view value);

}  // namespace redlock::wire

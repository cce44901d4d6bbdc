// The value of a key, written for an owner and read; knows no key.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/owner_text.hpp"
#include "value/recycled_string.hpp"

#include <redlock/owner_id.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::wire {

/// What a key holds while readers share it.
inline constexpr std::string_view shared_marker = "redlock:shared";

/// The owner and the client's name, by which an operator knows the holder. An owner that a caller
/// gave has a random number behind that: another process may have the same owner and the same name
/// (a container that was replaced has the host and pid of the old one), and each would take the
/// other's key for its own. That of a lease with a note says so in the end: nobody looks for the
/// notes of others.
detail::recycled_string owner_value(const owner_id& owner, std::string_view client_name,
                                    std::optional<std::uint64_t> random, bool has_note = false);

/// The owner that the value names; the value is of our form.
owner_id owner_of(std::string_view value) noexcept;

/// Whether a key's value is an owner value as this library writes them: 22 characters of base64url,
/// "@" and a name.
bool is_of_our_form(std::string_view value) noexcept;
/// Whether it is a value that this library never writes; false where there is no value.
bool is_foreign(std::string_view value) noexcept;
/// Whether a key with that value has no holder and can't be taken yet: see shared/keep.lua.
bool is_kept(std::string_view value) noexcept;
/// Whether the lease with that value has a note beside its key: see shared/notes.lua.
inline bool has_note(std::string_view value) noexcept { return value.ends_with(text::note_mark); }
/// The value of the lease that is over.
inline std::string_view without_kept_mark(std::string_view value) noexcept {
    return value.substr(0, value.size() - (is_kept(value) ? text::kept_mark.size() : 0));
}

/// The text of a note, from a node: bounded, and with what a note can't contain escaped.
std::string read_note(std::string_view text);

/// A key's value as it may be shown: it identifies the holder, but is not enough to act as it.
std::string abbreviate_owner(std::string_view value);

}  // namespace redlock::wire

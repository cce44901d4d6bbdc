// The owner value of a key and the token of a lease, as text.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/memory.hpp"
#include "value/options.hpp"
#include "value/owner_id.hpp"

#include <redlock/owner_id.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::wire {

/// What a key holds while readers share it.
inline constexpr std::string_view shared_marker = "redlock:shared";

/// The owner and the client's name, by which an operator knows the holder. An owner that a caller
/// gave has a random number behind that: another process may have the same owner and the same name
/// (a container that was replaced has the host and pid of the old one), and each would take the
/// other's key for its own. A note stands last, between a mark and a full stop, so that no text of
/// it ends as a kept key's value does.
detail::recycled_string owner_value(const owner_id& owner, std::string_view client_name,
                                    std::optional<std::uint64_t> random,
                                    std::string_view note = {});

/// No value of this library is longer, also of a kept key: of a key that another program wrote no
/// more is read.
inline constexpr std::size_t longest_value = 400;

/// The owner that the value names; the value is of our form.
owner_id owner_of(std::string_view value) noexcept;

/// Whether a key's value is an owner value as this library writes them: 22 characters of base64url,
/// "@" and a name.
bool is_of_our_form(std::string_view value) noexcept;
/// Whether it is a value that this library never writes; false where there is no value.
bool is_foreign(std::string_view value) noexcept;
/// Whether a key with that value has no holder and can't be taken yet: see shared/keep.lua.
bool is_kept(std::string_view value) noexcept;
/// The value of the lease that is over.
inline std::string_view without_kept_mark(std::string_view value) noexcept {
    return value.substr(0, value.size() - (is_kept(value) ? text::kept_mark.size() : 0));
}

/// The note in a value, as the holder wrote it; empty where it has none, or the key is kept.
std::string_view raw_note_of(std::string_view value) noexcept;
/// The same as it may be shown: bounded, and with what a note can't contain escaped.
std::string note_of(std::string_view value);

/// A key's value as it may be shown: it identifies the holder, but is not enough to act as it.
std::string abbreviate_owner(std::string_view value);

/// What the nodes keep of a lease, and need in order to prolong it or give it back.
struct lease_proof {
    /// Of its keys. A program that knows it can delete them.
    redlock::detail::recycled_string value;
    slot_number slot{};
    bool is_shared = false;
    std::chrono::milliseconds min_hold{0};
    std::vector<std::uint16_t> slots{};  ///< Of several all, in their order, from `slot` on.

    std::span<const std::uint16_t> all_slots() const noexcept {
        return slots.empty() ? std::span(&slot.number, 1) : std::span(slots);
    }
};

struct lease_token {
    std::vector<std::string> resources;
    std::uint64_t fence = 0;  ///< 0 where the lease has none.
    lease_proof proof;
};

/// No token is longer.
inline constexpr std::size_t longest_token = 128 * 1'024;

/// Hexadecimal digits behind a mark, so that it survives every shell; the last eight are a
/// checksum.
std::string write_token(std::span<const std::string> resources, std::uint64_t fence,
                        const lease_proof& proof);
/// Nothing where the text is no token, or not the whole of one.
std::optional<lease_token> read_token(std::string_view text);

}  // namespace redlock::wire

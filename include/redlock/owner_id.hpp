// The identity of one acquisition; knows neither keys nor nodes.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/export.hpp>

#include <array>
#include <compare>
#include <cstdint>
#include <string>

namespace redlock {

/// 128 random bits that identify one acquisition (or one re-entrant session).
///
/// All zero means "none": an acquisition that is given no owner draws a fresh one.
struct owner_id {
    std::array<std::uint8_t, 16> bytes{};

    /// A fresh identity from the operating system's random numbers. Thread-safe.
    /// Throws `std::system_error` where the system has none to give.
    REDLOCK_EXPORT static owner_id random();

    constexpr bool is_zero() const noexcept { return bytes == std::array<std::uint8_t, 16>{}; }

    /// The 22 base64url characters that stand for the identity on the nodes. Whoever knows them can
    /// release the lock, so they do not belong in logs: `abbreviated()` does.
    REDLOCK_EXPORT std::string to_string() const;
    /// Enough of the identity to recognise it, too little to act on it.
    REDLOCK_EXPORT std::string abbreviated() const;

    friend constexpr auto operator<=>(const owner_id&, const owner_id&) = default;
};

}  // namespace redlock

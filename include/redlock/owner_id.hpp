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
/// All zero means "none": the client then draws a random one for the acquisition.
struct owner_id {
    std::array<std::uint8_t, 16> bytes{};

    /// A new identity from the operating system's random numbers.
    ///
    /// **Errors.** Throws `std::system_error` if the system provides no random numbers.
    /// **Thread safety.** Any thread may call it.
    REDLOCK_EXPORT static owner_id random();

    constexpr bool is_zero() const noexcept { return bytes == std::array<std::uint8_t, 16>{}; }

    /// The 22 base64url characters with which the lock's value on the nodes begins. A program that
    /// knows the value can release the lock, so write `abbreviated()` to logs instead.
    REDLOCK_EXPORT std::string to_string() const;
    /// Enough of the identity to recognise it, too little to release the lock.
    REDLOCK_EXPORT std::string abbreviated() const;

    friend constexpr auto operator<=>(const owner_id&, const owner_id&) = default;
};

}  // namespace redlock

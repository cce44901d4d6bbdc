// Why a lease was lost; knows nothing of how the client detects it.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/export.hpp>

#include <cstdint>
#include <string_view>

namespace redlock {

/// Why a lease can no longer be relied on.
enum class loss : std::uint8_t {
    expired,      ///< Its validity ended without a renewal, as with `renew` off.
    taken,        ///< A quorum of nodes says that the key is gone or has another owner.
    unreachable,  ///< Until its validity ended, no renewal reached a quorum or could be sent.
    max_hold,     ///< It was held for as long as `acquire_options::max_hold` allows.
    stalled,      ///< `lease::touch()` was not called for `acquire_options::watchdog`.
};

/// The name of the enumerator.
REDLOCK_EXPORT std::string_view to_string(loss reason) noexcept;

}  // namespace redlock

// Why a lease was lost; knows nothing of how it is found out.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/export.hpp>

#include <cstdint>
#include <string_view>

namespace redlock {

/// Why a lease can no longer be relied on.
enum class loss : std::uint8_t {
    expired,      ///< Its validity ended and nothing was to prolong it.
    taken,        ///< A quorum of nodes says that the key is gone or somebody else's.
    unreachable,  ///< Renewals reached no quorum, or had no turn, until the validity ended.
    max_hold,     ///< It was held for as long as `acquire_options::max_hold` allows.
};

/// The name of the enumerator.
REDLOCK_EXPORT std::string_view to_string(loss reason) noexcept;

}  // namespace redlock

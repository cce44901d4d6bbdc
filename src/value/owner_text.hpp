// An identity as it stands on the nodes, without an allocation; knows no key.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/owner_id.hpp>

#include <array>

namespace redlock::text {

/// Base64url without padding.
std::array<char, 22> whole(const owner_id& id) noexcept;

}  // namespace redlock::text

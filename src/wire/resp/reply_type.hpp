// The kinds of RESP2 replies; knows no reply.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace redlock::resp {

enum class reply_type : std::uint8_t { nil, integer, status, string, error, array };

}  // namespace redlock::resp

// The text that proves to another process whose a lease is, written and read; asks no node.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/recycled_string.hpp"
#include "value/slot.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::wire {

/// What the nodes keep of a lease, and need in order to prolong it or give it back.
struct lease_proof {
    redlock::detail::recycled_string value;  ///< Of its keys. A program that knows it can delete them.
    slot_number slot{};
    bool is_shared = false;
    std::chrono::milliseconds min_hold{0};
};

struct lease_token {
    std::vector<std::string> resources;
    std::uint64_t fence = 0;  ///< 0 where the lease has none.
    lease_proof proof;
};

/// No token is longer.
inline constexpr std::size_t longest_token = 128 * 1'024;

/// Hexadecimal digits behind a mark, so that it survives every shell; the last eight are a checksum.
std::string write_token(std::span<const std::string> resources, std::uint64_t fence,
                        const lease_proof& proof);
/// Nothing where the text is no token, or not the whole of one.
std::optional<lease_token> read_token(std::string_view text);

}  // namespace redlock::wire

// A view of one RESP2 reply; knows nothing of the bytes it came from or what it answers.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/resp/reply_type.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace redlock::resp {

class reply_arena;

/// Cheap to copy. Valid until the next call on the parser that gave it out. An accessor that does
/// not fit the type returns a neutral value (0, "", nil), so a hostile node cannot cause more
/// than a wrong answer; callers that care look at `type()`.
class reply {
public:
    reply() noexcept = default;  ///< nil
    reply(const reply_arena& arena, std::size_t index) noexcept : arena_(&arena), index_(index) {}

    reply_type type() const noexcept;
    std::int64_t integer() const noexcept;
    std::string_view text() const noexcept;  ///< Of a status, a string or an error.
    std::size_t size() const noexcept;       ///< The number of children of an array.

    /// A child of an array; nil when out of range.
    reply operator[](std::size_t child) const noexcept;

    /// True for an error whose first word is `code`, e.g. "NOSCRIPT".
    bool is_error(std::string_view code) const noexcept;

private:
    const reply_arena* arena_ = nullptr;
    std::size_t index_ = 0;
};

}  // namespace redlock::resp

// The text of a note, as the options of an acquire have it; knows no acquire.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace redlock {

/// The longest note, in bytes.
inline constexpr std::size_t max_note_bytes = 256;

/// A copy of a text, so that nothing has to outlive the options. It has a buffer of its own, and is
/// trivially destructible: see `acquire_options`. Of a text that is too long it has one byte more
/// than is allowed, which `validate` then reports.
class note_text {
public:
    constexpr note_text() noexcept = default;
    constexpr note_text(std::string_view text) noexcept {
        for (const char c : text.substr(0, bytes_.size())) bytes_[size_++] = c;
    }
    constexpr note_text(const char* text) noexcept : note_text(std::string_view(text)) {}
    note_text(const std::string& text) noexcept : note_text(std::string_view(text)) {}

    constexpr std::string_view view() const noexcept { return {bytes_.data(), size_}; }
    constexpr operator std::string_view() const noexcept { return view(); }
    constexpr bool empty() const noexcept { return size_ == 0; }
    friend constexpr bool operator==(const note_text& a, const note_text& b) noexcept {
        return a.view() == b.view();
    }

private:
    std::uint16_t size_ = 0;
    std::array<char, max_note_bytes + 1> bytes_{};
};
static_assert(std::is_trivially_destructible_v<note_text>);

}  // namespace redlock

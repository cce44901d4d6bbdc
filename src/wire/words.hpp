// Numbers and times as arguments of a command; knows no command.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/time.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <string_view>

namespace redlock::wire {

/// A number, written out without an allocation.
class decimal {
public:
    explicit decimal(std::integral auto number) {
        end_ = std::to_chars(text_.data(), text_.data() + text_.size(), number).ptr;
    }
    operator std::string_view() const noexcept {
        return {text_.data(), static_cast<std::size_t>(end_ - text_.data())};
    }

private:
    std::array<char, 24> text_;
    char* end_;
};

/// How many whole `Unit`s.
template <class Unit>
auto in(duration d) {
    return std::chrono::duration_cast<Unit>(d).count();
}

}  // namespace redlock::wire

// The names of several resources that are acquired at once; knows no node.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/export.hpp>

#include <concepts>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace redlock {

/// Several resources, for `client::async_acquire_all`: `resource_list("a", "b")`, or of a vector.
/// Inside a `co_await` expression g++ 12 takes neither an initializer list nor a reference to a
/// literal, so there is no constructor from one.
class resource_list {
public:
    static constexpr std::size_t most = 64;  ///< That can be acquired at once.

    template <std::convertible_to<std::string>... Names>
        requires(sizeof...(Names) > 0)
    explicit(sizeof...(Names) == 1) resource_list(Names... names) {
        names_.reserve(sizeof...(Names));
        (names_.emplace_back(std::move(names)), ...);
    }
    resource_list(std::vector<std::string> names) noexcept : names_(std::move(names)) {}

    const std::vector<std::string>& names() const& noexcept { return names_; }
    std::vector<std::string> names() && noexcept { return std::move(names_); }

private:
    std::vector<std::string> names_;
};

}  // namespace redlock

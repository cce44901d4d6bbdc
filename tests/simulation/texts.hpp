// Sets and maps of texts in no order, searched without a copy of the text; knows no text.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace redlock::simulation {

struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
        return std::hash<std::string_view>()(text);
    }
};

using text_set = std::unordered_set<std::string, text_hash, std::equal_to<>>;
template <class T>
using text_map = std::unordered_map<std::string, T, text_hash, std::equal_to<>>;

}  // namespace redlock::simulation

// One JSON object on one line.
// SPDX-License-Identifier: MIT
#include "json_line.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>

namespace bench {

using nlohmann::ordered_json;

json_line& json_line::add(std::string_view name, std::string_view text) {
    members_[name] = text;
    return *this;
}

json_line& json_line::add(std::string_view name, double number) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.6g", number);
    members_[name] = std::isfinite(number) ? ordered_json(std::strtod(text.data(), nullptr)) : nullptr;
    return *this;
}

void json_line::print() const {
    std::cout << members_.dump(-1, ' ', false, ordered_json::error_handler_t::replace) << '\n'
              << std::flush;
}

}  // namespace bench

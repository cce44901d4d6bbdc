// One JSON object on one line.
// SPDX-License-Identifier: MIT
#include "json_line.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <iostream>

namespace bench {

std::string& json_line::member(std::string_view name) {
    text_ += text_.empty() ? "\"" : ", \"";
    text_ += name;
    text_ += "\": ";
    return text_;
}

json_line& json_line::add(std::string_view name, std::string_view text) {
    std::string& out = member(name);
    out += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    out += '"';
    return *this;
}

json_line& json_line::add(std::string_view name, double number) {
    std::array<char, 32> text{};
    // JSON knows no infinity: what could not be measured is null.
    if (std::isfinite(number)) std::snprintf(text.data(), text.size(), "%.6g", number);
    member(name) += std::isfinite(number) ? text.data() : "null";
    return *this;
}

void json_line::print() const { std::cout << '{' << text_ << "}\n" << std::flush; }

}  // namespace bench

// One JSON object on one line of standard output; knows nothing of what it says.
// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace bench {

/// Printed when `print` is called. Names and texts are plain: only quotes and backslashes of a text
/// are escaped, other control characters become spaces.
class json_line {
public:
    explicit json_line(std::string_view what) { add("bench", what); }

    json_line& add(std::string_view name, std::string_view text);
    json_line& add(std::string_view name, const char* text) {
        return add(name, std::string_view(text));
    }
    json_line& add(std::string_view name, double number);
    json_line& add(std::string_view name, std::integral auto number) {
        member(name) += std::to_string(number);
        return *this;
    }
    void print() const;

private:
    std::string& member(std::string_view name);

    std::string text_;
};

}  // namespace bench

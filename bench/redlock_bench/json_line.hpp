// One JSON object on one line of standard output; knows nothing of what it says.
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>

#include <concepts>
#include <string_view>

namespace bench {

/// Printed when `print` is called.
class json_line {
public:
    explicit json_line(std::string_view what) { add("bench", what); }

    json_line& add(std::string_view name, std::string_view text);
    json_line& add(std::string_view name, const char* text) {
        return add(name, std::string_view(text));
    }
    /// Six digits of it; null where it could not be measured.
    json_line& add(std::string_view name, double number);
    json_line& add(std::string_view name, std::integral auto number) {
        members_[name] = number;
        return *this;
    }
    void print() const;

private:
    nlohmann::ordered_json members_;
};

}  // namespace bench

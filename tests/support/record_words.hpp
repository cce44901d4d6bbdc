// The words of a node record as tests read and write them; knows no rule.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::testing {

/// By their names; the first one is `epoch`. One that the record does not have is "-".
class record_words {
public:
    record_words() = default;
    explicit record_words(const std::string& text) {
        std::istringstream in(text);
        for (std::string one; in >> one;) {
            const auto sign = one.find('=');
            const bool is_named = sign != one.npos;
            words_.emplace_back(is_named ? one.substr(0, sign) : "epoch",
                                is_named ? one.substr(sign + 1) : one);
        }
    }

    bool empty() const noexcept { return words_.empty(); }
    std::string& operator[](std::string_view name) {
        const auto at = std::find_if(words_.begin(), words_.end(),
                                     [&](const auto& one) { return one.first == name; });
        return at != words_.end() ? at->second : words_.emplace_back(name, "-").second;
    }
    std::string operator[](std::string_view name) const {
        for (const auto& [known, value] : words_) {
            if (known == name) return value;
        }
        return "-";
    }
    std::string text() const {
        std::string out;
        for (const auto& [name, value] : words_) {
            if (value == "-") continue;
            if (!out.empty()) out += ' ';
            out += name == "epoch" ? value : name + '=' + value;
        }
        return out;
    }
    friend bool operator==(const record_words&, const record_words&) = default;

private:
    std::vector<std::pair<std::string, std::string>> words_;
};

}  // namespace redlock::testing

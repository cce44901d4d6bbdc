// One JSON object as text, written member by member; reads none, and knows no event.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace redlock::text {

/// Valid JSON without a line break. What is no valid UTF-8 becomes U+FFFD, byte by byte; characters
/// that `detail::is_shown` rejects are escaped.
class json_object {
public:
    // The names are the library's own, each once, of letters and underscores.
    void add(std::string_view name, std::string_view value);
    void add(std::string_view name, std::int64_t value);
    /// `value` is JSON.
    void add_raw(std::string_view name, std::string_view value);

    /// The whole text. Nothing is added afterwards.
    std::string close();

private:
    std::string text_;
};

}  // namespace redlock::text

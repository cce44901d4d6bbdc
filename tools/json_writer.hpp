// Writes JSON text piece by piece; knows nothing of its content.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace redlock::tool {

/// Writes one value without white space. The caller must nest properly: nothing is checked.
class json_writer {
public:
    json_writer& begin_object() { return open('{'); }
    json_writer& end_object() { return close('}'); }
    json_writer& begin_array() { return open('['); }
    json_writer& end_array() { return close(']'); }
    /// The name of the member whose value comes next.
    json_writer& key(std::string_view name);
    /// Each byte that is no valid UTF-8 becomes U+FFFD. Characters that `is_shown` rejects are
    /// escaped.
    json_writer& string(std::string_view text);
    json_writer& number(std::int64_t value);
    json_writer& number_unsigned(std::uint64_t value);
    json_writer& boolean(bool value);
    json_writer& null();

    const std::string& text() const noexcept { return text_; }

private:
    json_writer& open(char bracket);
    json_writer& close(char bracket);
    void separate();
    void quote(std::string_view text);

    std::string text_;
    bool needs_comma_ = false;
};

}  // namespace redlock::tool

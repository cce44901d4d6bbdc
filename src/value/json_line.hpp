// States, votes and events as lines of JSON, escaped for any reader.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/vote.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::text {

/// A text in quotation marks, and what follows of it as in `json_object`.
std::string json_text(std::string_view value);

/// `json_of(element)` of each, in brackets.
template <class Range, class F>
std::string json_list(const Range& of, F&& json_of) {
    std::string out = "[";
    for (const auto& one : of) out.append(out.size() == 1 ? "" : ",").append(json_of(one));
    return out + "]";
}

/// Valid JSON without a line break. What is no valid UTF-8 becomes U+FFFD, byte by byte; characters
/// that `detail::is_shown` rejects are escaped.
class json_object {
public:
    // The names are the library's own, each once, of letters and underscores.
    void add(std::string_view name, std::string_view value);
    void add(std::string_view name, std::int64_t value);
    void add_flag(std::string_view name, bool value) { add_raw(name, value ? "true" : "false"); }
    /// Nothing where the text is empty.
    void add_filled(std::string_view name, std::string_view value) {
        if (!value.empty()) add(name, value);
    }
    /// Null where there is none.
    void add(std::string_view name, std::optional<std::int64_t> value) {
        value ? add(name, *value) : add_raw(name, "null");
    }
    /// `json_of(element)` is the JSON of one.
    template <class Range, class F>
    void add_list(std::string_view name, const Range& of, F&& json_of) {
        add_raw(name, json_list(of, json_of));
    }
    /// `value` is JSON.
    void add_raw(std::string_view name, std::string_view value);

    /// The whole text. Nothing is added afterwards.
    std::string close();

private:
    std::string text_;
};

/// The member "error", an object; nothing where there is no error.
void add_error(json_object& to, const error_code& error);

/// One object; members that say nothing are left out.
std::string json_of_vote(const node_vote& v);

}  // namespace redlock::text

// JSON with the place of each value, and the list of problems found there.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/options.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::config {

/// Appends problems to somebody's list: one error for each place, and a bounded number of them.
class report {
public:
    explicit report(std::vector<config_issue>& issues) : issues_(&issues) {}

    void error(const std::string& where, std::string message);
    /// A finding of somebody else; an error is dropped where this place has one already.
    void add(config_issue issue);

    bool failed() const noexcept { return failed_; }
    bool failed_at(const std::string& where) const { return places_.count(where) != 0; }

private:
    std::vector<config_issue>* issues_;
    std::set<std::string> places_;
    bool failed_ = false;
};

/// `base` and one more step of a JSON pointer (RFC 6901). Names are escaped, and long ones cut.
std::string step(std::string_view base, std::string_view name);
std::string step(std::string_view base, std::size_t index);

enum class json_kind : std::uint8_t { null, boolean, number, string, array, object };

struct json_member;

/// One value. Only what fits its kind is set. The destructor of nlohmann's own takes memory: a
/// program without any would end.
struct json {
    json_kind kind = json_kind::null;
    bool truth = false;
    double number = 0;
    std::string text;
    std::vector<json> items;
    std::vector<json_member> members;  // each name once, in their order

    const json* find(std::string_view name) const;
};

struct json_member {
    std::string name;
    json value;
};

/// Bounds on what is read: a configuration is far below each of them.
inline constexpr std::size_t max_text_bytes = 1024 * 1024;
inline constexpr std::size_t max_depth = 8;
inline constexpr std::size_t max_values = 2'000;

/// The tree of `text`; comments and a byte order mark are skipped. Empty when the text is no JSON
/// or exceeds a bound; names that come twice are reported, and their first value counts.
std::optional<json> parse_json(std::string_view text, report& out);

}  // namespace redlock::config

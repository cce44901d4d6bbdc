// Which keys of the library lie beside those of locks.
// SPDX-License-Identifier: MIT
#include "value/companion.hpp"

namespace redlock::detail {

namespace {

constexpr std::string_view endings[key_roles] = {"",        "}:fence",   "}:queue", "}:readers",
                                                 "}:slots", "}:revoked", "}:note"};

// Whether it has "}:note:" in it, and an owner value behind that.
bool is_note_of_reader(std::string_view prefix, std::string_view rest) noexcept {
    constexpr std::string_view mark = "}:note:";
    constexpr std::size_t id_length = 22;
    const auto begins_value = [](std::string_view text) {
        return text.size() > id_length && text[id_length] == '@';
    };
    for (std::size_t n = 1; n <= mark.size(); ++n) {
        if (prefix.ends_with(mark.substr(0, n)) && rest.starts_with(mark.substr(n)) &&
            begins_value(rest.substr(mark.size() - n))) {
            return true;
        }
    }
    for (auto at = rest.find(mark); at != rest.npos; at = rest.find(mark, at + 1)) {
        if (begins_value(rest.substr(at + mark.size()))) return true;
    }
    return false;
}

}  // namespace

// The ending may begin in the prefix.
bool key_ends_with(std::string_view prefix, std::string_view rest,
                   std::string_view ending) noexcept {
    if (rest.size() >= ending.size()) return rest.ends_with(ending);
    return ending.ends_with(rest) &&
           prefix.ends_with(ending.substr(0, ending.size() - rest.size()));
}

std::string_view ending_of(key_role role) noexcept {
    return endings[static_cast<std::size_t>(role)];
}

key_role role_of(std::string_view prefix, std::string_view rest) noexcept {
    if (rest.find('{') == rest.npos && prefix.find('{') == prefix.npos) return key_role::lock;
    for (std::size_t i = 1; i < key_roles; ++i) {
        if (key_ends_with(prefix, rest, endings[i])) return static_cast<key_role>(i);
    }
    return is_note_of_reader(prefix, rest) ? key_role::note : key_role::lock;
}

}  // namespace redlock::detail

// The value of a key.
// SPDX-License-Identifier: MIT
#include "wire/owner_value.hpp"

#include "value/text.hpp"

#include <redlock/options.hpp>
#include <redlock/resource_state.hpp>

#include <cstddef>

namespace redlock::wire {

namespace {

constexpr std::size_t id_length = 22;  // of the identity with which an owner value begins

}  // namespace

detail::recycled_string owner_value(const owner_id& owner, std::string_view client_name,
                                    std::optional<std::uint64_t> random, bool has_note) {
    const auto id = text::whole(owner);
    const std::string suffix = random ? "#" + std::to_string(*random) : "";
    const std::string_view mark = has_note ? text::note_mark : std::string_view();
    detail::recycled_string value;
    value.reserve(id.size() + 1 + client_name.size() + suffix.size() + mark.size());
    value.append(id.data(), id.size()).append("@").append(client_name).append(suffix).append(mark);
    return value;
}

owner_id owner_of(std::string_view value) noexcept {
    return text::read_whole(value.substr(0, id_length));
}

bool is_of_our_form(std::string_view value) noexcept {
    constexpr std::string_view base64url =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    return value.size() > id_length && value[id_length] == '@' &&
           value.substr(0, id_length).find_first_not_of(base64url) == value.npos;
}

bool is_foreign(std::string_view value) noexcept {
    return !value.empty() && value != shared_marker && !is_of_our_form(value);
}

bool is_kept(std::string_view value) noexcept {
    return value.ends_with(text::kept_mark) && is_of_our_form(value);
}

std::string read_note(std::string_view text) { return text::printable(text, max_note_bytes); }

std::string abbreviate_owner(std::string_view value) {
    if (value == shared_marker) return "readers";
    if (value.size() > id_length && value[id_length] == '@') {
        const bool was_kept = is_kept(value);
        std::string_view name = without_kept_mark(value).substr(id_length + 1);
        if (has_note(name)) name.remove_suffix(text::note_mark.size());
        return text::printable(value.substr(0, 6)) + "...@" + text::printable(name) +
               std::string(was_kept ? text::kept_mark : "");
    }
    constexpr std::size_t shown = 12;
    if (value.size() <= shown) return text::printable(value);
    return text::printable(value.substr(0, shown)) + "...";
}

}  // namespace redlock::wire

namespace redlock {

std::string abbreviate_owner(std::string_view value) { return wire::abbreviate_owner(value); }

}  // namespace redlock

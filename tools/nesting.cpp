// Which locks the runs around this one hold, and whether one of them is enough.
// SPDX-License-Identifier: MIT
#include "tools/nesting.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace redlock::tool {

namespace {

// An owner value is 22 characters, "@", a client name, and perhaps "#" and a number.
constexpr std::size_t most_owner_bytes = 22 + 1 + max_client_name + 1 + 20;

bool is_plain(char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("-_.:@#/").find(c) != std::string_view::npos;
}

std::string encoded(std::string_view text) {
    constexpr char digits[] = "0123456789abcdef";
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (is_plain(c)) {
            out += c;
        } else {
            out += {'%', digits[byte / 16], digits[byte % 16]};
        }
    }
    return out;
}

std::optional<std::string> decoded(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        if (is_plain(text.front())) {
            out += text.front();
            text.remove_prefix(1);
            continue;
        }
        unsigned byte = 0;
        if (text.front() != '%' || text.size() < 3 ||
            std::from_chars(text.data() + 1, text.data() + 3, byte, 16).ptr != text.data() + 3) {
            return std::nullopt;
        }
        out += static_cast<char>(byte);
        text.remove_prefix(3);
    }
    return out;
}

// The text up to the next `mark`, which is taken away with it.
std::string_view cut(std::string_view& text, char mark) {
    const auto end = std::min(text.find(mark), text.size());
    const auto out = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return out;
}

std::optional<std::uint64_t> read_number(std::string_view text) {
    std::uint64_t value = 0;
    const auto end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value);
    return error == std::errc() && at == end ? std::optional(value) : std::nullopt;
}

void add(std::vector<held_lock>& to, std::optional<std::string> resource,
         std::optional<std::string> owner, std::string_view fence) {
    const auto number = read_number(fence);
    if (!resource || resource->empty() || resource->size() > max_resource_bytes) return;
    if (!owner || owner->size() > most_owner_bytes || owner->find('@') != 22 || !number) return;
    const bool is_known = std::any_of(to.begin(), to.end(), [&](const held_lock& h) {
        return h.resource == *resource && h.owner == *owner;
    });
    if (!is_known) to.push_back({*std::move(resource), *std::move(owner), *number});
}

}  // namespace

std::vector<held_lock> read_held(const char* list, const char* resource, const char* owner,
                                 const char* fence) {
    std::vector<held_lock> out;
    std::string_view text = list == nullptr ? "" : list;
    if (text.size() > most_held_bytes) text = {};
    while (!text.empty() && out.size() < most_held) {
        std::string_view one = cut(text, ' ');
        const auto name = cut(one, ',');
        const auto number = cut(one, ',');
        add(out, decoded(name), decoded(one), number);
    }
    if (resource != nullptr && owner != nullptr && fence != nullptr) {
        std::string_view lines = resource;  // of several resources one a line
        while (!lines.empty() && out.size() < 2 * most_held) {
            add(out, std::string(cut(lines, '\n')), owner, fence);
        }
    }
    return out;
}

std::string write_held(const std::vector<held_lock>& held) {
    std::string out;
    std::size_t count = 0;
    for (auto h = held.rbegin(); h != held.rend() && count < most_held; ++h, ++count) {
        std::string one =
            encoded(h->resource) + ',' + std::to_string(h->fence) + ',' + encoded(h->owner);
        if (one.size() + 1 + out.size() > most_held_bytes) break;
        if (!out.empty()) one.append(1, ' ').append(out);
        out = std::move(one);
    }
    return out;
}

footing find_footing(const std::vector<held_lock>& around, kind_of_lock wanted,
                     const resource_state& state, int permits, int of_slots) {
    footing out;
    std::ptrdiff_t own_slots = 0;  // that it might take otherwise
    for (const held_lock& h : around) {
        if (h.resource != state.resource) continue;
        const std::string shown = abbreviate_owner(h.owner);
        std::vector<std::uint16_t> slots;
        std::string slot_note;
        for (const slot_state& s : state.slots) {
            if (s.owner != shown || s.kept) continue;
            slots.push_back(s.number);
            slot_note = s.note;
        }
        const bool has_all = state.held && state.owner == shown;
        const auto reader = std::find(state.readers.begin(), state.readers.end(), shown);
        const bool shares = reader != state.readers.end();
        if (wanted == kind_of_lock::slot) {
            if (static_cast<int>(slots.size()) >= permits) {
                return {footing::kind::outer, h, std::move(slots), std::move(slot_note)};
            }
            own_slots += std::count_if(slots.begin(), slots.end(),
                                       [of_slots](std::uint16_t one) { return one < of_slots; });
            if (own_slots > 0 && own_slots + permits > of_slots) {
                out = {footing::kind::crowded, h, {}, {}};
            }
        } else if (has_all) {
            return {footing::kind::outer, h, {}, state.note};
        } else if (shares && wanted == kind_of_lock::shared) {
            const auto at = static_cast<std::size_t>(reader - state.readers.begin());
            const bool has_note = at < state.reader_notes.size();
            return {footing::kind::outer, h, {}, has_note ? state.reader_notes[at] : ""};
        } else if (shares) {
            out = {footing::kind::deadlock, h, {}, {}};
        }
    }
    return out;
}

footing together(const std::vector<footing>& all) {
    const auto first = std::find_if(all.begin(), all.end(), [](const footing& f) {
        return f.what != footing::kind::own;
    });
    if (first == all.end()) return {};
    const bool are_one = std::all_of(all.begin(), all.end(), [&](const footing& f) {
        return f.what == first->what && f.under.owner == first->under.owner;
    });
    footing out = *first;
    if (!are_one && out.what == footing::kind::outer) out.what = footing::kind::partly;
    return out;
}

}  // namespace redlock::tool

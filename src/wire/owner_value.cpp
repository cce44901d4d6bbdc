// The owner value of a key and the token of a lease, as text.
// SPDX-License-Identifier: MIT
#include "wire/owner_value.hpp"

#include "value/text.hpp"

#include <redlock/options.hpp>
#include <redlock/resource_list.hpp>
#include <redlock/resource_state.hpp>

#include <boost/algorithm/hex.hpp>
#include <boost/crc.hpp>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <iterator>

namespace redlock::wire {

namespace {

constexpr std::size_t id_length = 22;  // of the identity with which an owner value begins

constexpr std::string_view mark = "redlock1.";

std::string checksum(std::string_view of) {
    boost::crc_32_type sum;
    sum.process_bytes(of.data(), of.size());
    std::string digits(8, '0');
    char text[8];
    const auto end = std::to_chars(std::begin(text), std::end(text), sum.checksum(), 16).ptr;
    std::copy_backward(text, end, digits.end());
    return digits;
}

// A field is its length, a colon, and so many bytes.
void append_field(std::string& out, std::string_view field) {
    out.append(std::to_string(field.size())).append(":").append(field);
}

// "3", or "3,7,9".
std::string text_of(std::span<const std::uint16_t> slots) {
    std::string text;
    for (const std::uint16_t one : slots) text += (text.empty() ? "" : ",") + std::to_string(one);
    return text;
}

class field_reader {
public:
    explicit field_reader(std::string_view bytes) : left_(bytes) {}

    bool is_at_end() const noexcept { return left_.empty(); }
    bool is_broken() const noexcept { return is_broken_; }

    std::string_view text() {
        std::size_t size = 0;
        const auto [at, wrong] = std::from_chars(left_.data(), left_.data() + left_.size(), size);
        const auto digits = static_cast<std::size_t>(at - left_.data());
        const bool has_colon = digits < left_.size() && left_[digits] == ':';
        if (wrong != std::errc() || !has_colon || size > left_.size() - digits - 1) {
            is_broken_ = true;
            left_ = {};
            return {};
        }
        const std::string_view field = left_.substr(digits + 1, size);
        left_.remove_prefix(digits + 1 + size);
        return field;
    }

    std::uint64_t number(std::uint64_t most) { return number_in(text(), most); }
    /// At least one, also of a broken field; they rise.
    std::vector<std::uint16_t> slots() {
        std::vector<std::uint16_t> all;
        std::string_view list = text();
        bool is_last = false;
        do {
            const auto end = list.find(',');
            is_last = end == list.npos;
            all.push_back(static_cast<std::uint16_t>(number_in(list.substr(0, end), max_slots)));
            if (!is_last) list.remove_prefix(end + 1);
            is_broken_ = is_broken_ || all.size() > max_permits ||
                         (all.size() > 1 && all.back() <= all[all.size() - 2]);
        } while (!is_last && !is_broken_);
        return all;
    }

private:
    std::uint64_t number_in(std::string_view digits, std::uint64_t most) {
        const auto value = text::whole_number<std::uint64_t>(digits);
        if (!value || *value > most) is_broken_ = true;
        return value.value_or(0);
    }

    std::string_view left_;
    bool is_broken_ = false;
};

}  // namespace

detail::recycled_string owner_value(const owner_id& owner, std::string_view client_name,
                                    std::optional<std::uint64_t> random, std::string_view note) {
    const auto id = text::whole(owner);
    const std::string suffix = random ? "#" + std::to_string(*random) : "";
    detail::recycled_string value;
    value.reserve(id.size() + 1 + client_name.size() + suffix.size() + text::note_mark.size() +
                  note.size() + 1);
    value.append(id.data(), id.size()).append("@").append(client_name).append(suffix);
    if (!note.empty()) value.append(text::note_mark).append(note) += text::note_end;
    assert(value.size() + text::kept_mark.size() <= longest_value);
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

std::string_view raw_note_of(std::string_view value) noexcept {
    const auto mark = value.find(text::note_mark);  // no name and no random number has a "#"
    if (!is_of_our_form(value) || mark == value.npos || !value.ends_with(text::note_end)) return {};
    const auto first = mark + text::note_mark.size();
    return value.substr(first, value.size() - first - 1);
}

std::string note_of(std::string_view value) {
    return text::printable(raw_note_of(value), max_note_bytes);
}

std::string abbreviate_owner(std::string_view value) {
    if (value == shared_marker) return "readers";
    if (value.size() > id_length && value[id_length] == '@') {
        const bool was_kept = is_kept(value);
        std::string_view name = without_kept_mark(value).substr(id_length + 1);
        name = name.substr(0, name.find(text::note_mark));
        return text::printable(value.substr(0, 6)) + "...@" + text::printable(name) +
               std::string(was_kept ? text::kept_mark : "");
    }
    constexpr std::size_t shown = 12;
    if (value.size() <= shown) return text::printable(value);
    return text::printable(value.substr(0, shown)) + "...";
}

std::string write_token(std::span<const std::string> resources, std::uint64_t fence,
                        const lease_proof& proof) {
    std::string bytes;
    for (const std::string& field :
         {std::to_string(fence), std::to_string(int{proof.is_shared}), text_of(proof.all_slots()),
          std::to_string(proof.slot.of), std::to_string(proof.min_hold.count())}) {
        append_field(bytes, field);
    }
    append_field(bytes, proof.value);
    for (const std::string& one : resources) append_field(bytes, one);
    std::string token(mark);
    boost::algorithm::hex_lower(bytes, std::back_inserter(token));
    return token + checksum(bytes);
}

std::optional<lease_token> read_token(std::string_view text) {
    if (!text.starts_with(mark) || text.size() > longest_token) return std::nullopt;
    text.remove_prefix(mark.size());
    if (text.size() < 8) return std::nullopt;
    const std::string_view sum = text.substr(text.size() - 8);
    text.remove_suffix(8);
    std::string bytes;
    try {
        boost::algorithm::unhex(text, std::back_inserter(bytes));
    } catch (const boost::algorithm::hex_decode_error&) {
        return std::nullopt;
    }
    if (sum != checksum(bytes)) return std::nullopt;

    field_reader fields(bytes);
    lease_token token;
    token.fence = fields.number(std::uint64_t{1} << 53);  // which scripts can count
    token.proof.is_shared = fields.number(1) == 1;
    token.proof.slots = fields.slots();
    token.proof.slot.number = token.proof.slots.front();
    token.proof.slot.of = static_cast<std::uint16_t>(fields.number(max_slots));
    token.proof.min_hold = std::chrono::milliseconds(fields.number(longest_ttl.count()));
    token.proof.value = fields.text();
    while (!fields.is_at_end() && token.resources.size() < resource_list::most) {
        token.resources.emplace_back(fields.text());
    }
    const std::uint16_t of = token.proof.slot.of;
    const bool are_slots = of == 0 ? token.proof.slots == std::vector<std::uint16_t>{0}
                                   : token.proof.slots.back() < of && token.resources.size() == 1;
    if (token.proof.slots.size() == 1) token.proof.slots.clear();
    const bool is_fenced = token.fence != 0 || (of == 0 && !token.proof.is_shared);
    const bool is_sound = !fields.is_broken() && fields.is_at_end() && !token.resources.empty() &&
                          is_of_our_form(token.proof.value) && are_slots && is_fenced;
    return is_sound ? std::optional(std::move(token)) : std::nullopt;
}

}  // namespace redlock::wire

namespace redlock {

std::string abbreviate_owner(std::string_view value) { return wire::abbreviate_owner(value); }

}  // namespace redlock

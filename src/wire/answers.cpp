// Replies read as votes.
// SPDX-License-Identifier: MIT
#include "wire/answers.hpp"

#include "value/text.hpp"

#include <algorithm>
#include <charconv>
#include <functional>

namespace redlock::wire {

namespace {

constexpr std::size_t id_length = 22;  // of the identity with which an owner value begins

bool is_foreign(std::string_view value) { return !value.empty() && !is_of_our_form(value); }

}  // namespace

failure read_failure(const resp::reply& reply) {
    if (reply.type() != resp::reply_type::error) {
        return {vote::refused, errc::protocol_error, "a reply of a kind the command can't have"};
    }
    error_code why = errc::server_error;
    for (const auto* code : {"NOAUTH", "WRONGPASS", "NOPERM"}) {
        if (reply.is_error(code)) why = errc::auth_failed;
    }
    if (reply.is_error("NOSCRIPT")) why = errc::script_rejected;
    if (reply.is_error("READONLY")) why = errc::not_master;
    if (reply.is_error("WRONGTYPE") || reply.is_error("FOREIGN")) why = errc::foreign_data;
    // A server that does not know a command repeats its arguments, and owner values are among them.
    const std::string_view words = reply.text();
    return {vote::refused, why, text::printable(words.substr(0, words.find(", with args")))};
}

acquire_answer read_set(const resp::reply& reply) {
    if (reply.type() == resp::reply_type::status && reply.text() == "OK") {
        return {.answer = vote::granted};
    }
    if (reply.type() == resp::reply_type::nil) return {.answer = vote::held};
    return {.why = read_failure(reply)};
}

acquire_answer read_acquire(const resp::reply& reply) {
    if (reply.type() == resp::reply_type::integer && reply.integer() == 1) {
        return {.answer = vote::granted};
    }
    if (is_late(reply)) {
        return {.why = {vote::refused, errc::clock_skew,
                        "by its clock the command came too late: it stood still, or its clock was "
                        "set"}};
    }
    const auto fence = [](const resp::reply& r) {
        return static_cast<std::uint64_t>(std::max<std::int64_t>(r.integer(), 0));
    };
    const bool has_outcome = reply[0].type() == resp::reply_type::integer;
    switch (has_outcome ? reply[0].integer() : -1) {
        case 0:
            return {.answer = vote::quarantine,
                    .is_amnesiac = true,
                    .why = {vote::quarantine, errc::in_quarantine, "it has lost its data"}};
        case 2:
            return {.answer = vote::held,
                    .why = {vote::held, {}, abbreviate_owner(reply[2].text())},
                    .lacks_fence = fence(reply[3]) == 0 && is_of_our_form(reply[2].text()),
                    .left = read_pttl(reply[1].integer()),
                    .fence = fence(reply[3]),
                    .before = read_pttl(reply[4].integer()),
                    .is_foreign = is_foreign(reply[2].text()),
                    .holder = std::hash<std::string_view>()(reply[2].text())};
        case 3:
            return {.answer = vote::queued,
                    .why = {vote::queued, {}, {}},
                    .fence = fence(reply[2]),
                    .before = read_pttl(reply[1].integer())};
        case 4: return {.answer = vote::stale, .fence = fence(reply[1])};
        case 5:
            return {.why = {vote::refused, errc::clock_skew,
                            "the fence is too far ahead of its clock"}};
        default: return {.why = read_failure(reply)};
    }
}

compare_answer read_release(const resp::reply& reply) {
    if (reply.type() == resp::reply_type::integer) {
        if (reply.integer() == 1) return {.choice = core::choice::yes};
        if (reply.integer() == 0 || reply.integer() == -1) return {.choice = core::choice::no};
    }
    return {.why = read_failure(reply)};
}

compare_answer read_extension(const resp::reply& reply, std::size_t lease) {
    const resp::reply one = reply[lease];
    if (one.type() != resp::reply_type::integer) {
        return {.why = read_failure(reply)};
    }
    if (one.integer() > 1) {
        return {.choice = core::choice::no, .fence = static_cast<std::uint64_t>(one.integer())};
    }
    switch (one.integer()) {
        case 1: return {.choice = core::choice::yes};
        case 0:
        case -1: return {.choice = core::choice::no};
        case -2:
            return {.why = {vote::refused, errc::clock_skew,
                            "the fence is too far ahead of its clock"}};
        case -3:
            return {.why = {vote::refused, errc::foreign_data, "a key holds something else"}};
        default: return {.why = read_failure(reply)};
    }
}

bool is_amnesiac(const resp::reply& reply) noexcept {
    return reply.type() == resp::reply_type::status && reply.text() == "AMNESIAC";
}

bool is_late(const resp::reply& reply) noexcept {
    return reply.type() == resp::reply_type::status && reply.text() == "LATE";
}

std::optional<wait_answer> read_wait(const resp::reply& reply, std::size_t waiter) {
    const resp::reply one = reply[waiter];
    if (one[0].type() != resp::reply_type::integer) return std::nullopt;
    return wait_answer{.left = read_pttl(one[0].integer()),
                       .before = read_pttl(one[1].integer()),
                       .is_foreign = is_foreign(one[2].text())};
}

std::chrono::milliseconds read_pttl(std::int64_t answer) noexcept {
    constexpr std::chrono::milliseconds longest = std::chrono::hours(24 * 366);
    if (answer == -2) return std::chrono::milliseconds(0);
    // Nobody looks that far ahead, and a year can be reckoned with in nanoseconds.
    return std::clamp(std::chrono::milliseconds(answer), std::chrono::milliseconds(-1), longest);
}

std::optional<std::int64_t> read_time(const resp::reply& reply) {
    std::int64_t seconds = 0;
    std::int64_t us = 0;
    const auto number = [](std::string_view text, std::int64_t& to) {
        const auto end = text.data() + text.size();
        return !text.empty() && std::from_chars(text.data(), end, to).ptr == end;
    };
    constexpr std::int64_t latest = 9'000'000'000;  // the fences end there, in 2255
    if (!number(reply[0].text(), seconds) || !number(reply[1].text(), us) || seconds < 0 ||
        seconds > latest || us < 0 || us >= 1'000'000) {
        return std::nullopt;
    }
    return seconds * 1'000'000 + us;
}

bool is_of_our_form(std::string_view value) noexcept {
    constexpr std::string_view base64url =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    return value.size() > id_length && value[id_length] == '@' &&
           value.substr(0, id_length).find_first_not_of(base64url) == value.npos;
}

std::string abbreviate_owner(std::string_view value) {
    if (value.size() > id_length && value[id_length] == '@') {
        return text::printable(value.substr(0, 6)) + "...@" +
               text::printable(value.substr(id_length + 1));
    }
    constexpr std::size_t shown = 12;
    if (value.size() <= shown) return text::printable(value);
    return text::printable(value.substr(0, shown)) + "...";
}

}  // namespace redlock::wire

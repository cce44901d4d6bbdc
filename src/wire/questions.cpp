// Requests that read a resource for people and observers, or revoke it.
// SPDX-License-Identifier: MIT
#include "wire/questions.hpp"

#include "wire/request.hpp"
#include "wire/resp/command.hpp"

#include <redlock/options.hpp>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <system_error>

namespace redlock::wire {

namespace {

// What has a meaning in a pattern stands for itself.
std::string literal(std::string_view text) {
    constexpr std::string_view special = "*?[]^-\\";
    std::string out;
    for (const char c : text) {
        if (special.find(c) != special.npos) out += '\\';
        out += c;
    }
    return out;
}

// The server goes through so many keys in a step, for about 0.3 ms, and for twice as long where
// other work keeps its processor busy; 1,000 took up to 1.4 ms: docs/performance.md.
constexpr std::string_view keys_per_step = "300";

}  // namespace

void write_scan(std::string& out, std::string_view cursor, std::string_view prefix) {
    const std::string pattern = literal(prefix) + "*";
    resp::append_command(
        out, {"SCAN", cursor, "MATCH", pattern, "COUNT", keys_per_step, "TYPE", "string"});
}

std::optional<scanned> read_scan(const resp::reply& reply) {
    if (reply.type() != resp::reply_type::array || reply.size() != 2) return std::nullopt;
    const std::string_view digits = reply[0].text();
    if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos) {
        return std::nullopt;
    }
    return scanned{digits, reply[1]};
}

namespace {

template <class Text>
void write(std::string& out, resp::script_form form, std::string_view how_much,
           std::span<const Text> keys, std::string_view key_prefix, bool has_companions) {
    std::vector<std::string_view> words{verb(form), body(form, resp::look()), "0", key_prefix,
                                        has_companions ? "1" : "0", how_much};
    words.insert(words.end(), keys.begin(), keys.end());
    resp::append_command(out, words);
}

// The number that is all of the text.
template <class Number>
std::optional<Number> read_whole(std::string_view text, int base = 10) noexcept {
    Number value{};
    const auto end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value, base);
    return error == std::errc() && at == end ? std::optional(value) : std::nullopt;
}

}  // namespace

void write_look(std::string& out, resp::script_form form, std::span<const std::string_view> keys,
                std::string_view key_prefix, bool has_companions) {
    assert(!keys.empty() && keys.size() <= most_looked_at);
    write(out, form, "digests", keys, key_prefix, has_companions);
}

std::optional<std::uint64_t> read_look(const resp::reply& reply, std::size_t i,
                                       std::size_t count) {
    constexpr std::size_t digits = 16;
    const std::string_view all = reply.text();
    if (reply.type() != resp::reply_type::string || all.size() != digits * count) {
        return std::nullopt;
    }
    return read_whole<std::uint64_t>(all.substr(digits * i, digits), 16);
}

void write_forms(std::string& out, resp::script_form form, std::span<const std::string> keys) {
    write(out, form, "forms", keys, "", false);
}

std::optional<std::string_view> read_forms(const resp::reply& reply, std::size_t count) {
    const bool is_answer = reply.type() == resp::reply_type::string && reply.text().size() == count;
    return is_answer ? std::optional(reply.text()) : std::nullopt;
}

void write_view(std::string& out, resp::script_form form, std::string_view key,
                std::string_view key_prefix, bool has_companions) {
    write(out, form, "all", std::span<const std::string_view>(&key, 1), key_prefix,
          has_companions);
}

std::optional<resource_view> read_view(const resp::reply& reply) {
    if (reply.type() != resp::reply_type::array || reply.size() < 2) return std::nullopt;
    resource_view view;
    view.key = {reply[0], reply[1], reply[2]};
    view.time_ms = reply[3].integer();
    view.waiting = reply[4];
    for (std::size_t i = reply[5].size(); i > 0; --i) {
        view.readers.emplace_back(reply[5][i - 1].text());
    }
    const std::int64_t count = reply[6].integer();
    if (count > 0 && count <= max_slots) view.slot_count = static_cast<std::uint16_t>(count);
    const resp::reply slots = reply[7];
    for (std::size_t i = 0; i + 3 < slots.size(); i += 4) {
        const auto number = read_whole<std::uint16_t>(slots[i].text());
        if (!number || *number >= max_slots) continue;  // another program may have written it
        view.slots.push_back({*number, {slots[i + 1], slots[i + 2], slots[i + 3]}});
    }
    return view;
}

queue_answer read_queue(const resp::reply& waiting, std::string_view client_id,
                        std::int64_t now_ms) {
    constexpr auto longest_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(longest_entry_life).count();
    const std::string own = std::string(client_id) + ':';
    queue_answer answer;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
        const std::string_view entry = waiting[i].text();
        const auto until_ms = read_whole<std::int64_t>(entry.substr(entry.rfind(':') + 1));
        if (!until_ms || *until_ms <= now_ms || *until_ms > now_ms + longest_ms) continue;
        ++answer.waiting;
        if (!answer.place && entry.starts_with(own)) answer.place = answer.waiting;
    }
    return answer;
}

using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

std::vector<std::string> texts(const resp::reply& reply) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < reply.size(); ++i) out.emplace_back(reply[i].text());
    return out;
}

}  // namespace

void write_revocation(std::string& out, resp::script_form form, const revocation_request& what) {
    const std::string_view resource_key = what.slot ? without_slot(what.key) : what.key;
    const companion_key fence = fence_of(what.key_prefix, what.key);
    const companion_key revoked = revoked_of(what.key_prefix, what.key);
    const companion_key queue = queue_of(what.key_prefix, resource_key);
    const companion_key set = what.slot ? slots_of(what.key_prefix, resource_key)
                                        : readers_of(what.key_prefix, resource_key);
    const decimal raised(what.fence);
    const decimal lift(in<microseconds>(what.lift));
    const decimal revoked_life(in<milliseconds>(what.revoked_life));
    const decimal slot(what.slot.value_or(0));
    std::vector<std::string_view> words{verb(form), body(form, resp::revoke()),
                                        what.is_fenced ? "5" : "1", what.key};
    if (what.is_fenced) words.insert(words.end(), {fence, revoked, queue, set});
    words.insert(words.end(), {raised, lift, revoked_life, what.key_prefix,
                               what.slot ? std::string_view(slot) : std::string_view()});
    words.insert(words.end(), what.values.begin(), what.values.end());
    resp::append_command(out, words);
}

std::optional<revocation_answer> read_revocation(const resp::reply& reply) {
    if (reply.type() != resp::reply_type::array || reply.size() != 2) return std::nullopt;
    return revocation_answer{texts(reply[0]), texts(reply[1])};
}

}  // namespace redlock::wire

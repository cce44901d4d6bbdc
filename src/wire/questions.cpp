// Requests that read a resource for people and observers, or revoke it.
// SPDX-License-Identifier: MIT
#include "wire/questions.hpp"

#include "wire/owner_value.hpp"
#include "wire/request.hpp"
#include "wire/resp/command.hpp"

#include <redlock/options.hpp>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <string>
#include <system_error>
#include <vector>

namespace redlock::wire {

namespace {

// The number that is all of the text.
template <class Number>
std::optional<Number> read_whole(std::string_view text) noexcept {
    Number value{};
    const auto end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value);
    return error == std::errc() && at == end ? std::optional(value) : std::nullopt;
}

}  // namespace

void write_get_front(std::string& out, std::string_view key) {
    resp::append_command(out, {"GETRANGE", key, "0", decimal(longest_value - 1)});
}

void write_pttl(std::string& out, std::string_view key) {
    resp::append_command(out, {"PTTL", key});
}

void write_get_queue(std::string& out, std::string_view queue, std::size_t most) {
    const decimal last(most - 1);
    resp::append_command(out, {"ZRANGE", queue, "0", last});
}

void write_get_readers(std::string& out, std::string_view readers, std::size_t most) {
    const std::string first = "-" + std::to_string(most);
    resp::append_command(out, {"ZRANGE", readers, first, "-1", "WITHSCORES"});
}

std::vector<std::string> read_readers(const resp::reply& reply,
                                      std::optional<std::int64_t> now_ms) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i + 1 < reply.size(); i += 2) {
        const std::string_view until = reply[i + 1].text();
        std::int64_t until_ms = 0;
        std::from_chars(until.data(), until.data() + until.size(), until_ms);
        // Below zero: the base.
        if (until_ms > now_ms.value_or(0)) out.emplace_back(reply[i].text());
    }
    return out;
}

void write_get_slots(std::string& out, std::string_view slots) {
    const std::string first = "-" + std::to_string(2 * max_slots);
    resp::append_command(out, {"ZRANGE", slots, first, "-1", "WITHSCORES"});
}

slots_answer read_slots(const resp::reply& reply, std::optional<std::int64_t> now_ms) {
    slots_answer answer;
    for (std::size_t i = 0; i + 1 < reply.size(); i += 2) {
        std::string_view member = reply[i].text();
        const bool is_count = member.starts_with("k:");
        if (is_count) member.remove_prefix(2);
        const auto number = read_whole<std::uint16_t>(member);
        const auto score = read_whole<std::int64_t>(reply[i + 1].text());
        // Another program may have written it.
        if (!number || !score || is_count != (*score < 0)) continue;
        const std::int64_t now = now_ms.value_or(0);
        if (is_count ? *score >= -now : *score <= now) continue;
        if (!is_count && *number < max_slots) answer.taken.push_back(*number);
        const bool is_least = answer.count == 0 || *number < answer.count;
        if (is_count && *number > 0 && *number <= max_slots && is_least) answer.count = *number;
    }
    return answer;
}

queue_answer read_queue(const resp::reply& reply, std::string_view client_id,
                        std::optional<std::int64_t> now_ms) {
    constexpr auto longest_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(longest_entry_life).count();
    const std::string own = std::string(client_id) + ':';
    queue_answer answer;
    for (std::size_t i = 0; i < reply.size(); ++i) {
        const std::string_view entry = reply[i].text();
        const std::string_view until = entry.substr(entry.rfind(':') + 1);
        std::int64_t until_ms = 0;
        std::from_chars(until.data(), until.data() + until.size(), until_ms);
        const bool is_dead = now_ms && (until_ms <= *now_ms || until_ms > *now_ms + longest_ms);
        if (is_dead) continue;
        ++answer.waiting;
        if (!answer.place && entry.starts_with(own)) answer.place = answer.waiting;
    }
    return answer;
}

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

void write_scan_of_all(std::string& out, std::string_view cursor) {
    resp::append_command(out, {"SCAN", cursor, "COUNT", keys_per_step});
}

void write_memory_usage(std::string& out, std::string_view key) {
    resp::append_command(out, {"MEMORY", "USAGE", key});
}

std::optional<scanned> read_scan(const resp::reply& reply) {
    if (reply.type() != resp::reply_type::array || reply.size() != 2) return std::nullopt;
    const std::string_view digits = reply[0].text();
    if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos) {
        return std::nullopt;
    }
    return scanned{digits, reply[1]};
}

void write_look(std::string& out, resp::script_form form, std::span<const std::string_view> keys,
                std::string_view key_prefix, bool has_companions) {
    assert(!keys.empty() && keys.size() <= most_looked_at);
    const decimal count(keys.size());
    std::vector<std::string_view> words{verb(form), body(form, resp::look()), count};
    words.reserve(keys.size() + 5);
    words.insert(words.end(), keys.begin(), keys.end());
    words.push_back(key_prefix);
    words.push_back(has_companions ? "1" : "0");
    resp::append_command(out, words);
}

std::optional<std::uint64_t> read_look(const resp::reply& reply, std::size_t i,
                                       std::size_t count) {
    constexpr std::size_t digits = 16;
    const std::string_view all = reply.text();
    if (reply.type() != resp::reply_type::string || all.size() != digits * count) {
        return std::nullopt;
    }
    std::uint64_t digest = 0;
    const char* const first = all.data() + digits * i;
    const auto [end, error] = std::from_chars(first, first + digits, digest, 16);
    if (error != std::errc() || end != first + digits) return std::nullopt;
    return digest;
}

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
    const decimal life(in<milliseconds>(what.fence_life));
    const decimal revoked_life(in<milliseconds>(what.revoked_life));
    const decimal slot(what.slot.value_or(0));
    std::vector<std::string_view> words{verb(form), body(form, resp::revoke()),
                                        what.is_fenced ? "5" : "1", what.key};
    if (what.is_fenced) words.insert(words.end(), {fence, revoked, queue, set});
    words.insert(words.end(), {raised, life, revoked_life, what.key_prefix,
                               what.slot ? std::string_view(slot) : std::string_view()});
    if (what.values != nullptr) words.insert(words.end(), what.values->begin(), what.values->end());
    resp::append_command(out, words);
}

std::optional<revocation_answer> read_revocation(const resp::reply& reply) {
    if (reply.type() != resp::reply_type::array || reply.size() != 3 ||
        reply[0].type() != resp::reply_type::integer || reply[0].integer() < 0) {
        return std::nullopt;
    }
    return revocation_answer{static_cast<std::uint64_t>(reply[0].integer()), texts(reply[1]),
                             texts(reply[2])};
}

}  // namespace redlock::wire

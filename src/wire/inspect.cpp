// The queries about one resource on a node.
// SPDX-License-Identifier: MIT
#include "wire/inspect.hpp"

#include "wire/owner_value.hpp"
#include "wire/queue_entry.hpp"
#include "wire/resp/command.hpp"
#include "wire/words.hpp"

#include <redlock/options.hpp>

#include <charconv>
#include <chrono>
#include <string>
#include <system_error>

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
    resp::append_command(out, {"GETRANGE", key, "0", "127"});
}

void write_pttl(std::string& out, std::string_view key) {
    resp::append_command(out, {"PTTL", key});
}

void write_get_note(std::string& out, std::string_view note_key) {
    constexpr std::size_t longest_value = 128;
    resp::append_command(out, {"GETRANGE", note_key, "0", decimal(longest_value + max_note_bytes)});
}

std::string read_note_of(std::string_view value, const resp::reply& reply) {
    const std::string_view text = reply.text();
    const bool is_its = reply.type() == resp::reply_type::string && text.starts_with(value) &&
                        text.substr(value.size()).starts_with('\n');
    return is_its ? read_note(text.substr(value.size() + 1)) : std::string();
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

}  // namespace redlock::wire

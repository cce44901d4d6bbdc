// Requests that read a resource for people and observers, note a run under it, or revoke it.
// SPDX-License-Identifier: MIT
#include "wire/questions.hpp"

#include "value/text.hpp"
#include "wire/record.hpp"
#include "wire/request.hpp"

#include <redlock/options.hpp>

#include <algorithm>
#include <cassert>
#include <limits>

namespace redlock::wire {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

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

template <class Text>
void write(std::string& out, resp::script_form form, std::string_view how_much,
           std::span<const Text> keys, std::string_view key_prefix, bool has_companions) {
    std::vector<std::string_view> words{verb(form), body(form, resp::look()), "0", key_prefix,
                                        has_companions ? "1" : "0", how_much};
    words.insert(words.end(), keys.begin(), keys.end());
    resp::append_command(out, words);
}

std::vector<std::string> texts(const resp::reply& reply) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < reply.size(); ++i) out.emplace_back(reply[i].text());
    return out;
}

// A word may hold neither spaces nor line ends.
std::string as_word(std::string_view text) {
    constexpr std::size_t longest = 64;
    std::string out(text.substr(0, longest));
    std::replace_if(out.begin(), out.end(), [](char c) { return c <= ' ' || c > '~'; }, '_');
    return out;
}

std::string since_1970(std::chrono::system_clock::time_point at) {
    return std::to_string(
        std::chrono::floor<milliseconds>(at.time_since_epoch()).count());
}

std::string line_of(const run_record& run) {
    std::string out = as_word(run.id) + " start=" + since_1970(run.start);
    if (run.end) out += " end=" + since_1970(*run.end);
    if (!run.host.empty()) out += " host=" + as_word(run.host);
    const auto add = [&out](std::string_view name, auto number) {
        if (number != 0) out.append(" ").append(name).append("=").append(std::to_string(number));
    };
    add("pid", run.pid);
    add("fence", run.fence);
    add("status", run.status);
    add("signal", run.signal);
    add("lost", run.is_lost ? 1 : 0);
    add("unstarted", run.is_started ? 0 : 1);
    return out;
}

// Nothing where it is none that `line_of` writes: others may have written to the key.
std::optional<std::int64_t> number_up_to(std::int64_t most, std::string_view word) {
    const auto number = text::whole_number<std::int64_t>(word);
    return number && *number >= 0 && *number <= most ? number : std::nullopt;
}

void read_word(std::string_view name, std::string_view value, run_record& out) {
    constexpr std::int64_t year_9999 = 253'402'300'799'999;  // in ms
    const auto time = number_up_to(year_9999, value);
    const std::chrono::system_clock::time_point at{milliseconds(time.value_or(0))};
    const auto number = number_up_to(std::numeric_limits<std::int64_t>::max(), value);
    const auto small = number_up_to(std::numeric_limits<int>::max(), value);
    if (name == "host") out.host = value;
    if (name == "start" && time) out.start = at;
    if (name == "end" && time) out.end = at;
    if (name == "pid" && number) out.pid = *number;
    if (name == "fence" && number) out.fence = static_cast<std::uint64_t>(*number);
    if (name == "status" && small) out.status = static_cast<int>(*small);
    if (name == "signal" && small) out.signal = static_cast<int>(*small);
    if (name == "lost") out.is_lost = value == "1";
    if (name == "unstarted") out.is_started = value != "1";
}

// Words that a later version writes are passed over.
std::optional<run_record> run_of(std::string_view line) {
    run_record out;
    out.id = take_word(line);
    while (!line.empty()) {
        const std::string_view word = take_word(line);
        const std::size_t sign = word.find('=');
        if (sign != word.npos) read_word(word.substr(0, sign), word.substr(sign + 1), out);
    }
    const bool has_start = out.start.time_since_epoch().count() > 0;
    return has_start && !out.id.empty() ? std::optional(std::move(out)) : std::nullopt;
}

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
    return text::whole_number<std::uint64_t>(all.substr(digits * i, digits), 16);
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
        const auto number = text::whole_number<std::uint16_t>(slots[i].text());
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
        const auto until_ms = text::whole_number<std::int64_t>(entry.substr(entry.rfind(':') + 1));
        if (!until_ms || *until_ms <= now_ms || *until_ms > now_ms + longest_ms) continue;
        ++answer.waiting;
        if (!answer.place && entry.starts_with(own)) answer.place = answer.waiting;
    }
    return answer;
}

void write_runs(std::string& out, resp::script_form form, std::string_view key,
                std::string_view key_prefix, const std::optional<run_record>& noted,
                std::chrono::milliseconds keep) {
    const companion_key last = last_of(key_prefix, key);
    if (!noted) return resp::append_command(out, {"GET", last});
    const std::string line = line_of(*noted);
    resp::append_command(out, {verb(form), body(form, resp::runs()), "1", last, line,
                               as_word(noted->id), decimal(keep.count()), decimal(most_runs)});
}

std::optional<std::vector<run_record>> read_runs(const resp::reply& reply) {
    std::vector<run_record> out;
    if (reply.type() == resp::reply_type::nil) return out;
    if (reply.type() != resp::reply_type::string) return std::nullopt;
    for (std::string_view text = reply.text(); !text.empty() && out.size() < most_runs;) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (auto run = run_of(line)) out.push_back(*std::move(run));
    }
    return out;
}

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

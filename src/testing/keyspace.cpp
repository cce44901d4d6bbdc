// The keys of a server in memory, its clock, and what it answers.
// SPDX-License-Identifier: MIT
#include "testing/keyspace.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace redlock::fakes {

bool sorted_set::put(const std::string& member, double score) {
    score += 0.0;  // there is no negative zero
    const auto [at, is_new] = by_member_.try_emplace(member, score);
    if (!is_new) by_score_.erase({at->second, member});
    at->second = score;
    by_score_.emplace(score, member);
    return is_new;
}

bool sorted_set::erase(std::string_view member) {
    const auto at = by_member_.find(member);
    if (at == by_member_.end()) return false;
    by_score_.erase({at->second, at->first});
    by_member_.erase(at);
    return true;
}

std::optional<double> sorted_set::score_of(std::string_view member) const {
    const auto at = by_member_.find(member);
    return at != by_member_.end() ? std::optional(at->second) : std::nullopt;
}

std::optional<std::size_t> sorted_set::rank_of(std::string_view member) const {
    const auto score = score_of(member);
    if (!score) return std::nullopt;
    const auto at = by_score_.find({*score, std::string(member)});
    return static_cast<std::size_t>(std::distance(by_score_.begin(), at));
}

stored* keyspace::find(std::string_view key, std::int64_t now_ms) {
    const auto it = keys_.find(key);
    if (it == keys_.end()) return nullptr;
    if (!it->second.is_gone(now_ms)) return &it->second;
    keys_.erase(it);
    return nullptr;
}

void keyspace::put(std::string_view key, stored what) {
    keys_.insert_or_assign(std::string(key), std::move(what));
}

bool keyspace::erase(std::string_view key, std::int64_t now_ms) {
    if (find(key, now_ms) == nullptr) return false;
    keys_.erase(keys_.find(key));
    return true;
}

void keyspace::sweep(std::int64_t now_ms) {
    std::erase_if(keys_, [now_ms](const auto& k) { return k.second.is_gone(now_ms); });
}

namespace {

// A line break would end a status or an error early: Redis puts blanks in their place, too.
void append_line(std::string& out, char kind, const std::string& text) {
    out += kind;
    const auto begin = static_cast<std::ptrdiff_t>(out.size());
    out += text;
    std::replace_if(
        out.begin() + begin, out.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
    out += "\r\n";
}

void append_number(std::string& out, char kind, std::int64_t number) {
    char line[24];
    char* end = line;
    *end++ = kind;
    end = std::to_chars(end, end + 20, number).ptr;
    *end++ = '\r';
    *end++ = '\n';
    out.append(line, end);
}

}  // namespace

void append_resp2(std::string& out, const model_reply& r) {
    switch (r.type) {
        case model_reply::kind::nil: out += "$-1\r\n"; return;
        case model_reply::kind::integer: return append_number(out, ':', r.number);
        case model_reply::kind::status: return append_line(out, '+', r.text);
        case model_reply::kind::error: return append_line(out, '-', r.text);
        case model_reply::kind::bulk:
            append_number(out, '$', static_cast<std::int64_t>(r.text.size()));
            out += r.text;
            out += "\r\n";
            return;
        case model_reply::kind::array:
            append_number(out, '*', static_cast<std::int64_t>(r.items.size()));
            for (const model_reply& item : r.items) append_resp2(out, item);
    }
}

std::string to_resp2(const model_reply& r) {
    std::string out;
    append_resp2(out, r);
    return out;
}

std::string in_upper_case(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    return out;
}

}  // namespace redlock::fakes

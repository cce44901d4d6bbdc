// The commands on sorted sets.
// SPDX-License-Identifier: MIT
#include "testing/redis_model/sorted_set_commands.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>

namespace redlock::fakes {

namespace {

using r = model_reply;

/// What is at a key: `set` is null where there is nothing, or something else.
struct place {
    sorted_set* set = nullptr;
    bool is_other = false;
};

place look(keyspace& in, const std::string& key, std::int64_t now_ms) {
    stored* const k = in.find(key, now_ms);
    if (k == nullptr) return {};
    sorted_set* const set = std::get_if<sorted_set>(&k->value);
    return {set, set == nullptr};
}

bool read_score(const std::string& text, double& out) {
    if (text.empty() || std::isspace(static_cast<unsigned char>(text.front())) != 0) return false;
    char* end = nullptr;
    errno = 0;
    out = std::strtod(text.c_str(), &end);
    const bool is_beyond = errno == ERANGE && (std::isinf(out) || out == 0.0);
    return end == text.c_str() + text.size() && !is_beyond && !std::isnan(out);
}

r in_digits(double score) {
    if (std::isinf(score)) return r::bulk(score > 0 ? "inf" : "-inf");
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.17g", score);
    return r::bulk(digits);
}

/// One end of a range of scores.
struct bound {
    double at = 0;
    bool is_outside = false;

    // Reads less strictly than a score is read, as Redis does.
    bool read(const std::string& text) {
        is_outside = text.starts_with('(');
        const char* const begin = text.c_str() + (is_outside ? 1 : 0);
        char* end = nullptr;
        at = std::strtod(begin, &end);
        return *end == '\0' && !std::isnan(at);
    }
    bool is_below(double score) const { return is_outside ? at < score : at <= score; }
    bool is_above(double score) const { return is_outside ? at > score : at >= score; }
};

/// What may follow the ends of a range.
struct range_options {
    bool has_scores = false;
    std::int64_t offset = 0;
    std::int64_t limit = -1;  ///< Negative: as many as there are.

    std::optional<r> read(const command& c) {
        for (std::size_t i = 4; i < c.size(); ++i) {
            const std::string option = in_upper_case(c[i]);
            if (option == "WITHSCORES") {
                has_scores = true;
            } else if (option == "LIMIT" && i + 2 < c.size()) {
                if (!read_integer(c[i + 1], offset) || !read_integer(c[i + 2], limit)) {
                    return not_an_integer();
                }
                i += 2;
            } else {
                return syntax_error();
            }
        }
        return std::nullopt;
    }
};

using place_in_order = sorted_set::in_order::const_iterator;

r in_array(place_in_order from, place_in_order to, bool has_scores) {
    std::vector<r> found;
    for (; from != to; ++from) {
        found.push_back(r::bulk(from->second));
        if (has_scores) found.push_back(in_digits(from->first));
    }
    return r::array(std::move(found));
}

r zadd(keyspace& in, const command& c, std::int64_t now_ms) {
    bool only_new = false;
    bool only_old = false;
    std::size_t first = 2;
    for (; first < c.size(); ++first) {
        const std::string option = in_upper_case(c[first]);
        if (option != "NX" && option != "XX") break;
        (option == "NX" ? only_new : only_old) = true;
    }
    if (first == c.size() || (c.size() - first) % 2 != 0) return syntax_error();
    if (only_new && only_old) {
        return r::error("ERR XX and NX options at the same time are not compatible");
    }
    std::vector<double> scores;
    for (std::size_t i = first; i < c.size(); i += 2) {
        if (!read_score(c[i], scores.emplace_back()))
            return r::error("ERR value is not a valid float");
    }
    place at = look(in, c[1], now_ms);
    if (at.is_other) return wrong_type();
    if (at.set == nullptr) {
        if (only_old) return r::integer(0);
        in.put(c[1], {sorted_set{}});
        at = look(in, c[1], now_ms);
    }
    std::int64_t added = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        const std::string& member = c[first + 2 * i + 1];
        const bool is_there = at.set->score_of(member).has_value();
        if (is_there ? only_new : only_old) continue;
        added += at.set->put(member, scores[i]) ? 1 : 0;
    }
    return r::integer(added);
}

r zrem(keyspace& in, const command& c, std::int64_t now_ms) {
    const place at = look(in, c[1], now_ms);
    if (at.set == nullptr) return at.is_other ? wrong_type() : r::integer(0);
    const auto removed = std::count_if(
        c.begin() + 2, c.end(), [&](const std::string& member) { return at.set->erase(member); });
    if (at.set->all().empty()) in.erase(c[1], now_ms);
    return r::integer(removed);
}

r zcard(keyspace& in, const command& c, std::int64_t now_ms) {
    const place at = look(in, c[1], now_ms);
    if (at.set == nullptr) return at.is_other ? wrong_type() : r::integer(0);
    return r::integer(static_cast<std::int64_t>(at.set->all().size()));
}

r zscore(keyspace& in, const command& c, std::int64_t now_ms) {
    const place at = look(in, c[1], now_ms);
    if (at.set == nullptr) return at.is_other ? wrong_type() : r::nil();
    const auto score = at.set->score_of(c[2]);
    return score ? in_digits(*score) : r::nil();
}

r zrank(keyspace& in, const command& c, std::int64_t now_ms) {
    const place at = look(in, c[1], now_ms);
    if (at.set == nullptr) return at.is_other ? wrong_type() : r::nil();
    const auto rank = at.set->rank_of(c[2]);
    return rank ? r::integer(static_cast<std::int64_t>(*rank)) : r::nil();
}

r zrange(keyspace& in, const command& c, std::int64_t now_ms) {
    range_options options;
    if (auto wrong = options.read(c)) return std::move(*wrong);
    if (options.limit != -1) {
        return r::error(
            "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or "
            "BYLEX");
    }
    std::int64_t first = 0;
    std::int64_t last = 0;
    if (!read_integer(c[2], first) || !read_integer(c[3], last)) return not_an_integer();
    const place at = look(in, c[1], now_ms);
    if (at.set == nullptr) return at.is_other ? wrong_type() : r::array({});
    const auto size = static_cast<std::int64_t>(at.set->all().size());
    first = std::max<std::int64_t>(first < 0 ? first + size : first, 0);
    last = std::min(last < 0 ? last + size : last, size - 1);
    if (first > last) return r::array({});
    const auto from = std::next(at.set->all().begin(), first);
    return in_array(from, std::next(from, last - first + 1), options.has_scores);
}

r zrangebyscore(keyspace& in, const command& c, std::int64_t now_ms) {
    range_options options;
    if (auto wrong = options.read(c)) return std::move(*wrong);
    bound lowest;
    bound highest;
    if (!lowest.read(c[2]) || !highest.read(c[3])) return r::error("ERR min or max is not a float");
    const place at = look(in, c[1], now_ms);
    if (at.set == nullptr) return at.is_other ? wrong_type() : r::array({});
    const auto end = at.set->all().end();
    auto from = std::find_if(at.set->all().begin(), end,
                             [&](const auto& one) { return lowest.is_below(one.first); });
    // A negative offset is beyond every end.
    for (std::int64_t i = options.offset; i != 0 && from != end; --i) ++from;
    auto to = from;
    for (std::int64_t i = options.limit; i != 0 && to != end && highest.is_above(to->first); --i) {
        ++to;
    }
    return in_array(from, to, options.has_scores);
}

r zremrangebyscore(keyspace& in, const command& c, std::int64_t now_ms) {
    bound lowest;
    bound highest;
    if (!lowest.read(c[2]) || !highest.read(c[3])) return r::error("ERR min or max is not a float");
    const place at = look(in, c[1], now_ms);
    if (at.set == nullptr) return at.is_other ? wrong_type() : r::integer(0);
    std::vector<std::string> found;
    for (const auto& [score, member] : at.set->all()) {
        if (lowest.is_below(score) && highest.is_above(score)) found.push_back(member);
    }
    for (const std::string& member : found) at.set->erase(member);
    if (at.set->all().empty()) in.erase(c[1], now_ms);
    return r::integer(static_cast<std::int64_t>(found.size()));
}

}  // namespace

const data_command* find_sorted_set_command(std::string_view name) {
    static const std::unordered_map<std::string_view, data_command> all = {
        {"ZADD", {{-4, trait::writes | trait::needs_memory}, zadd}},
        {"ZREM", {{-3, trait::writes}, zrem}},
        {"ZCARD", {{2, 0}, zcard}},
        {"ZSCORE", {{3, 0}, zscore}},
        {"ZRANK", {{3, 0}, zrank}},
        {"ZRANGE", {{-4, 0}, zrange}},
        {"ZRANGEBYSCORE", {{-4, 0}, zrangebyscore}},
        {"ZREMRANGEBYSCORE", {{4, trait::writes}, zremrangebyscore}},
    };
    const auto it = all.find(name);
    return it != all.end() ? &it->second : nullptr;
}

}  // namespace redlock::fakes

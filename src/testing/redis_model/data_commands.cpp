// The commands that read and write one database.
// SPDX-License-Identifier: MIT
#include "testing/redis_model/data_commands.hpp"

#include "testing/redis_model/sorted_set_commands.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace redlock::fakes {

namespace {

using r = model_reply;

r invalid_expire(const char* in) {
    return r::error(std::string("ERR invalid expire time in '") + in + "' command");
}

bool is_too_late(std::int64_t now_ms, std::int64_t ttl) { return ttl > INT64_MAX - now_ms; }

r get(keyspace& in, const command& c, std::int64_t now_ms) {
    const stored* k = in.find(c[1], now_ms);
    if (k == nullptr) return r::nil();
    return k->text() != nullptr ? r::bulk(*k->text()) : wrong_type();
}

// From the front, as far as it goes: no negative places.
r getrange(keyspace& in, const command& c, std::int64_t now_ms) {
    std::int64_t first = 0;
    std::int64_t last = 0;
    if (!read_integer(c[2], first) || !read_integer(c[3], last)) return not_an_integer();
    const r whole = get(in, c, now_ms);
    if (whole.is_error() || first < 0 || last < first)
        return whole.is_error() ? whole : r::bulk("");
    const auto from = std::min(static_cast<std::size_t>(first), whole.text.size());
    return r::bulk(whole.text.substr(from, static_cast<std::size_t>(last - first) + 1));
}

r mget(keyspace& in, const command& c, std::int64_t now_ms) {
    std::vector<r> found;
    for (std::size_t i = 1; i < c.size(); ++i) {
        const stored* k = in.find(c[i], now_ms);
        const std::string* text = k != nullptr ? k->text() : nullptr;
        found.push_back(text != nullptr ? r::bulk(*text) : r::nil());
    }
    return r::array(std::move(found));
}

r set(keyspace& in, const command& c, std::int64_t now_ms) {
    stored what{c[2]};
    bool only_new = false;
    bool only_old = false;
    for (std::size_t i = 3; i < c.size(); ++i) {
        const std::string option = in_upper_case(c[i]);
        if (option == "NX" && !only_old) {
            only_new = true;
        } else if (option == "XX" && !only_new) {
            only_old = true;
        } else if (option == "PX" && i + 1 < c.size()) {
            std::int64_t ttl = 0;
            if (!read_integer(c[++i], ttl)) return not_an_integer();
            if (ttl <= 0 || is_too_late(now_ms, ttl)) return invalid_expire("set");
            what.expires_ms = now_ms + ttl;
        } else {
            return syntax_error();
        }
    }
    const bool is_there = in.find(c[1], now_ms) != nullptr;
    if (is_there ? only_new : only_old) return r::nil();
    in.put(c[1], std::move(what));
    return r::ok();
}

r del(keyspace& in, const command& c, std::int64_t now_ms) {
    return r::integer(std::count_if(c.begin() + 1, c.end(),
                                    [&](const std::string& key) { return in.erase(key, now_ms); }));
}

r exists(keyspace& in, const command& c, std::int64_t now_ms) {
    return r::integer(std::count_if(c.begin() + 1, c.end(), [&](const std::string& key) {
        return in.find(key, now_ms) != nullptr;
    }));
}

r type(keyspace& in, const command& c, std::int64_t now_ms) {
    static constexpr const char* names[] = {"string", "list", "zset", "set"};
    const stored* k = in.find(c[1], now_ms);
    return r::status(k != nullptr ? names[k->value.index()] : "none");
}

r pttl(keyspace& in, const command& c, std::int64_t now_ms) {
    const stored* k = in.find(c[1], now_ms);
    if (k == nullptr) return r::integer(-2);
    return r::integer(k->expires_ms ? *k->expires_ms - now_ms : -1);
}

r pexpire(keyspace& in, const command& c, std::int64_t now_ms) {
    const bool only_longer = c.size() > 3;
    for (std::size_t i = 3; i < c.size(); ++i) {
        if (in_upper_case(c[i]) != "GT") return r::error("ERR Unsupported option " + c[i]);
    }
    std::int64_t ttl = 0;
    if (!read_integer(c[2], ttl)) return not_an_integer();
    if (is_too_late(now_ms, ttl)) return invalid_expire("pexpire");
    stored* k = in.find(c[1], now_ms);
    if (k == nullptr) return r::integer(0);
    // For GT a key without expiry lives without end.
    if (only_longer && (!k->expires_ms || now_ms + ttl <= *k->expires_ms)) return r::integer(0);
    if (ttl <= 0) {
        in.erase(c[1], now_ms);
    } else {
        k->expires_ms = now_ms + ttl;
    }
    return r::integer(1);
}

r persist(keyspace& in, const command& c, std::int64_t now_ms) {
    stored* k = in.find(c[1], now_ms);
    if (k == nullptr || !k->expires_ms) return r::integer(0);
    k->expires_ms.reset();
    return r::integer(1);
}

r rpush(keyspace& in, const command& c, std::int64_t now_ms) {
    stored* k = in.find(c[1], now_ms);
    if (k == nullptr) {
        in.put(c[1], {stored::list{}});
        k = in.find(c[1], now_ms);
    }
    auto* const list = std::get_if<stored::list>(&k->value);
    if (list == nullptr) return wrong_type();
    list->insert(list->end(), c.begin() + 2, c.end());
    return r::integer(static_cast<std::int64_t>(list->size()));
}

r sadd(keyspace& in, const command& c, std::int64_t now_ms) {
    stored* k = in.find(c[1], now_ms);
    if (k == nullptr) {
        in.put(c[1], {stored::set{}});
        k = in.find(c[1], now_ms);
    }
    auto* const members = std::get_if<stored::set>(&k->value);
    if (members == nullptr) return wrong_type();
    const std::size_t before = members->size();
    members->insert(c.begin() + 2, c.end());
    return r::integer(static_cast<std::int64_t>(members->size() - before));
}

r sismember(keyspace& in, const command& c, std::int64_t now_ms) {
    const stored* const k = in.find(c[1], now_ms);
    if (k == nullptr) return r::integer(0);
    const auto* const members = std::get_if<stored::set>(&k->value);
    return members == nullptr ? wrong_type() : r::integer(members->contains(c[2]) ? 1 : 0);
}

}  // namespace

const data_command* find_data_command(std::string_view name) {
    static const std::unordered_map<std::string_view, data_command> all = {
        {"GET", {{2, 0}, get}},
        {"GETRANGE", {{4, 0}, getrange}},
        {"MGET", {{-2, 0}, mget}},
        {"SET", {{-3, trait::writes | trait::needs_memory}, set}},
        {"DEL", {{-2, trait::writes}, del}},
        {"EXISTS", {{-2, 0}, exists}},
        {"TYPE", {{2, 0}, type}},
        {"PTTL", {{2, 0}, pttl}},
        {"PEXPIRE", {{-3, trait::writes}, pexpire}},
        {"PERSIST", {{2, trait::writes}, persist}},
        {"RPUSH", {{-3, trait::writes | trait::needs_memory}, rpush}},
        {"SADD", {{-3, trait::writes | trait::needs_memory}, sadd}},
        {"SISMEMBER", {{3, 0}, sismember}},
    };
    const auto it = all.find(name);
    return it != all.end() ? &it->second : find_sorted_set_command(name);
}

}  // namespace redlock::fakes

// A server in memory.
// SPDX-License-Identifier: MIT
#include "testing/model.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <unordered_map>

namespace redlock::fakes {

bool client_registry::is_subscribed(const client_state* client,
                                    const std::string& channel) const noexcept {
    const auto at = by_channel.find(channel);
    return at != by_channel.end() &&
           std::find(at->second.begin(), at->second.end(), client) != at->second.end();
}

void client_registry::unsubscribe(const client_state* client, const std::string& channel) noexcept {
    const auto at = by_channel.find(channel);
    if (at == by_channel.end()) return;
    std::erase(at->second, client);
    if (at->second.empty()) by_channel.erase(at);
}

void client_state::leave() noexcept {
    if (const auto all = known_to.lock()) {
        for (const std::string& channel : channels) all->unsubscribe(this, channel);
        all->by_id.erase(id);
    }
    known_to.reset();
    channels.clear();
}

namespace {

using r = model_reply;

namespace trait {
constexpr unsigned writes = 1;
constexpr unsigned needs_memory = 2;  // Refused where there is none left.
constexpr unsigned while_loading = 4;
constexpr unsigned not_in_scripts = 8;
constexpr unsigned before_auth = 16;
constexpr unsigned while_subscribed = 32;
}  // namespace trait

struct command_traits {
    int arity = 0;  // Words, its name among them; negative: at least as many.
    unsigned flags = 0;

    bool has(unsigned flag) const noexcept { return (flags & flag) != 0; }
    bool takes(std::size_t words) const noexcept {
        const int n = static_cast<int>(words);
        return arity < 0 ? n >= -arity : n == arity;
    }
};

r not_an_integer() {
    return r::error("ERR value is not an integer or out of range");
}

r syntax_error() { return r::error("ERR syntax error"); }

r wrong_type() {
    return r::error("WRONGTYPE Operation against a key holding the wrong kind of value");
}

bool read_integer(std::string_view text, std::int64_t& out) {
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, out);
    return read.ec == std::errc() && read.ptr == end;
}

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

// What is at a key, which is made where there is nothing; null where it is something else.
template <class What>
What* made_at(const std::string& key, keyspace& in, std::int64_t now_ms) {
    if (in.find(key, now_ms) == nullptr) in.put(key, {What{}});
    return std::get_if<What>(&in.find(key, now_ms)->value);
}

r rpush(keyspace& in, const command& c, std::int64_t now_ms) {
    auto* const list = made_at<stored::list>(c[1], in, now_ms);
    if (list == nullptr) return wrong_type();
    list->insert(list->end(), c.begin() + 2, c.end());
    return r::integer(static_cast<std::int64_t>(list->size()));
}

r sadd(keyspace& in, const command& c, std::int64_t now_ms) {
    auto* const members = made_at<stored::set>(c[1], in, now_ms);
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

// As the library does, for strings that begin with a text; all at once.
r scan(keyspace& in, const command& c, std::int64_t now_ms) {
    std::string begin;
    for (std::size_t i = 0; i + 1 < c[3].size(); ++i) {
        if (c[3][i] == '\\') ++i;
        begin += c[3][i];
    }
    in.sweep(now_ms);
    std::vector<r> found;
    for (const auto& [name, what] : in.all()) {
        if (what.text() != nullptr && name.starts_with(begin)) found.push_back(r::bulk(name));
    }
    return r::array({r::bulk("0"), r::array(std::move(found))});
}

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

std::string in_lower_case(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return out;
}

bool has_subcommands(std::string_view name) {
    return name == "CLIENT" || name == "CONFIG" || name == "SCRIPT";
}

r unknown_command(const command& c) {
    const std::string name = in_upper_case(c.front());
    if (has_subcommands(name)) {
        if (c.size() > 1) {
            return r::error("ERR unknown subcommand '" + c[1] + "'. Try " + name + " HELP.");
        }
        return r::error("ERR wrong number of arguments for '" + in_lower_case(name) + "' command");
    }
    std::string text = "ERR unknown command '" + c.front() + "', with args beginning with: ";
    for (std::size_t i = 1; i < c.size(); ++i) text += "'" + c[i] + "' ";
    return r::error(std::move(text));
}

// What says that a connection listens, or does no more.
r subscription(const char* what, r channel, const client_state& of) {
    return r::array({r::bulk(what), std::move(channel),
                     r::integer(static_cast<std::int64_t>(of.subscriptions()))});
}

// A server would answer once for each, and so more than once to one command.
r more_than_one_channel() { return r::error("ERR model: one channel at a time"); }

// `*` and `?` as in the shell.
bool matches(std::string_view pattern, std::string_view text) {
    if (pattern.empty()) return text.empty();
    if (pattern.front() == '*') {
        return matches(pattern.substr(1), text) ||
               (!text.empty() && matches(pattern, text.substr(1)));
    }
    return !text.empty() && (pattern.front() == '?' || pattern.front() == text.front()) &&
           matches(pattern.substr(1), text.substr(1));
}

}  // namespace

struct redis_model::known_command {
    std::string_view name;
    command_traits traits;
    /// One of the two: on the keys of a database, or on the server.
    r (*on_data)(keyspace& in, const command& c, std::int64_t now_ms) = nullptr;
    r (*on_server)(redis_model& in, client_state& from, const command& c, time_point now) = nullptr;
};

redis_model::redis_model(std::uint64_t seed) : seed_(seed) { start_process(); }

void redis_model::start_process() {
    run_id_ = sha1_of(std::to_string(seed_) + ":" + std::to_string(starts_++));
    replid_ = next_replid();
    replid2_ = std::string(40, '0');
    has_backlog_ = false;
    cached_.clear();
    clients_ = std::make_shared<client_registry>();
}

std::string redis_model::next_replid() {
    return sha1_of(std::to_string(seed_) + "/" + std::to_string(replids_++));
}

void redis_model::set_replica(bool is) {
    if (is == is_replica_) return;
    is_replica_ = is;
    if (!is) replid2_ = replid_;
    replid_ = next_replid();
}

void redis_model::set_attached_replicas(std::size_t n) {
    attached_replicas_ = n;
    if (n == 0 || has_backlog_) return;
    has_backlog_ = true;
    replid_ = next_replid();
    replid2_ = std::string(40, '0');
}

void redis_model::crash(data what) {
    if (what == data::lost) flush();
    if (what == data::saved) databases_ = saved_;
    if (what == data::others) std::swap(databases_, others_);
    start_process();
}

void redis_model::flush() noexcept {
    for (keyspace& d : databases_) d.clear();
}

void redis_model::step_clock(duration by, time_point now) {
    for (keyspace& d : databases_) d.sweep(wall.ms(now));
    wall.step(by);
}

r redis_model::execute(client_state& from, const command& c, time_point now) {
    if (from.known_to.lock() != clients_) {
        from.leave();
        from.known_to = clients_;
        from.id = ++clients_so_far_;
        clients_->by_id.emplace(from.id, &from);
    }
    const known_command* const what = look_up(c);
    if (what == nullptr) return unknown_command(c);
    if (!what->traits.takes(c.size())) {
        return r::error("ERR wrong number of arguments for '" + in_lower_case(what->name) +
                        "' command");
    }
    if (auto refusal = refuse(from, *what)) return std::move(*refusal);
    return carry_out(from, *what, c, now);
}

// In the order in which Redis looks.
std::optional<r> redis_model::refuse(const client_state& from, const known_command& what) const {
    if (!password.empty() && !from.is_authenticated && !what.traits.has(trait::before_auth)) {
        return r::error("NOAUTH Authentication required.");
    }
    if (forbidden_.contains(what.name)) {
        return r::error("NOPERM this user has no permissions to run the '" +
                        in_lower_case(what.name) + "' command");
    }
    if (is_out_of_memory_ && what.traits.has(trait::needs_memory)) {
        return r::error("OOM command not allowed when used memory > 'maxmemory'.");
    }
    if (is_replica_ && what.traits.has(trait::writes)) {
        return r::error("READONLY You can't write against a read only replica.");
    }
    if (from.subscriptions() != 0 && !what.traits.has(trait::while_subscribed)) {
        return r::error("ERR Can't execute '" + in_lower_case(what.name) +
                        "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are "
                        "allowed in this context");
    }
    if (is_loading_ && !what.traits.has(trait::while_loading)) {
        return r::error("LOADING Redis is loading the dataset in memory");
    }
    return std::nullopt;
}

r redis_model::carry_out(client_state& from, const known_command& what, const command& c,
                         time_point now) {
    if (what.on_data != nullptr) return what.on_data(databases_[from.database], c, wall.ms(now));
    return what.on_server(*this, from, c, now);
}

/// What one script may do. Its time stands still.
class redis_model::script_run final : public script_host::caller {
public:
    script_run(redis_model& on, const client_state& from, time_point now) : on_(&on), now_(now) {
        from_.is_authenticated = from.is_authenticated;
        from_.database = from.database;
    }

    r on_call(const command& c) noexcept override {
        const known_command* const what = look_up(c);
        if (what == nullptr) return r::error("ERR Unknown Redis command called from script");
        if (!what->traits.takes(c.size())) {
            return r::error("ERR Wrong number of args calling Redis command from script");
        }
        if (what->traits.has(trait::not_in_scripts)) {
            return r::error("ERR This Redis command is not allowed from script");
        }
        if (on_->forbidden_.contains(what->name)) {
            return r::error(
                "ERR The user executing the script can't run this command or subcommand");
        }
        if (on_->is_replica_ && what->traits.has(trait::writes)) {
            return r::error("READONLY You can't write against a read only replica.");
        }
        // A script that has begun to write is let finish.
        if (on_->is_out_of_memory_ && !has_written_ && what->traits.has(trait::needs_memory)) {
            return r::error("OOM command not allowed when used memory > 'maxmemory'.");
        }
        has_written_ |= what->traits.has(trait::writes);
        return on_->carry_out(from_, *what, c, now_);
    }

private:
    redis_model* on_;
    client_state from_{};  // apart: a database that the script selects is its own affair
    time_point now_;
    bool has_written_ = false;
};

struct redis_model::server_commands {
    // The number of keys is looked at first of all.
    static std::optional<r> refuse_keys(const command& c) {
        std::int64_t keys = 0;
        if (!read_integer(c[2], keys)) return not_an_integer();
        if (keys > static_cast<std::int64_t>(c.size() - 3)) {
            return r::error("ERR Number of keys can't be greater than number of args");
        }
        if (keys < 0) return r::error("ERR Number of keys can't be negative");
        return std::nullopt;
    }

    static r run_script(redis_model& in, const client_state& from, const std::string& sha1,
                        const command& c, time_point now) {
        const std::span<const std::string> rest(c.begin() + 3, c.end());
        const std::size_t keys = std::stoul(c[2]);
        script_run by(in, from, now);
        return script_host::of_this_thread().run(sha1, in.cached_.at(sha1), rest.first(keys),
                                                 rest.subspan(keys), by);
    }

    static r eval(redis_model& in, client_state& from, const command& c, time_point now) {
        if (auto refusal = refuse_keys(c)) return std::move(*refusal);
        r compiled = load(in, c[1]);
        return compiled.is_error() ? compiled : run_script(in, from, compiled.text, c, now);
    }

    static r evalsha(redis_model& in, client_state& from, const command& c, time_point now) {
        if (auto refusal = refuse_keys(c)) return std::move(*refusal);
        const std::string sha1 = in_lower_case(c[1]);
        if (!in.cached_.contains(sha1)) {
            return r::error("NOSCRIPT No matching script. Please use EVAL.");
        }
        return run_script(in, from, sha1, c, now);
    }

    static r load(redis_model& in, const std::string& text) {
        r compiled = script_host::of_this_thread().compile(text);
        if (!compiled.is_error()) in.cached_.try_emplace(compiled.text, text);
        return compiled;
    }

    static r script_exists(redis_model& in, client_state&, const command& c, time_point) {
        std::vector<r> found;
        for (std::size_t i = 2; i < c.size(); ++i) {
            found.push_back(r::integer(in.cached_.contains(in_lower_case(c[i])) ? 1 : 0));
        }
        return r::array(std::move(found));
    }

    static r script_load(redis_model& in, client_state&, const command& c, time_point) {
        return load(in, c[2]);
    }

    static r script_flush(redis_model& in, client_state&, const command&, time_point) {
        in.cached_.clear();
        return r::ok();
    }

    static r auth(redis_model& in, client_state& from, const command& c, time_point) {
        if (c.size() > 3) return r::error("ERR syntax error");
        if (c.size() == 2 && in.password.empty()) {
            return r::error(
                "ERR AUTH <password> called without any password configured for the default user. "
                "Are you sure your configuration is correct?");
        }
        const bool is_known = c.size() == 2 || c[1] == in.username;
        from.is_authenticated = is_known && (in.password.empty() || c.back() == in.password);
        if (from.is_authenticated) return r::ok();
        return r::error("WRONGPASS invalid username-password pair or user is disabled.");
    }

    static r select(redis_model& in, client_state& from, const command& c, time_point) {
        std::int64_t i = 0;
        if (!read_integer(c[1], i)) return not_an_integer();
        if (i < 0 || i >= static_cast<std::int64_t>(in.databases_.size())) {
            return r::error("ERR DB index is out of range");
        }
        from.database = static_cast<std::size_t>(i);
        return r::ok();
    }

    static r ping(redis_model&, client_state& from, const command& c, time_point) {
        if (c.size() > 2) return r::error("ERR wrong number of arguments for 'ping' command");
        if (from.subscriptions() != 0) {
            return r::array({r::bulk("pong"), r::bulk(c.size() == 2 ? c[1] : "")});
        }
        return c.size() == 2 ? r::bulk(c[1]) : r::status("PONG");
    }

    static r time(redis_model& in, client_state&, const command&, time_point now) {
        const std::int64_t us = in.wall.us(now);
        return r::array(
            {r::bulk(std::to_string(us / 1'000'000)), r::bulk(std::to_string(us % 1'000'000))});
    }

    static r subscribe(redis_model& in, client_state& from, const command& c, time_point) {
        if (c.size() > 2) return more_than_one_channel();
        if (from.channels.insert(c[1]).second) in.clients_->by_channel[c[1]].push_back(&from);
        return subscription("subscribe", r::bulk(c[1]), from);
    }

    static r unsubscribe(redis_model& in, client_state& from, const command& c, time_point) {
        const bool is_of_all = c.size() == 1;
        if (c.size() > 2 || (is_of_all && from.channels.size() > 1)) return more_than_one_channel();
        if (is_of_all && from.channels.empty()) {
            return subscription("unsubscribe", r::nil(), from);
        }
        const std::string channel = is_of_all ? *from.channels.begin() : c[1];
        if (from.channels.erase(channel) != 0) in.clients_->unsubscribe(&from, channel);
        return subscription("unsubscribe", r::bulk(channel), from);
    }

    // To the subscribers in the order in which they subscribed.
    static r publish(redis_model& in, client_state&, const command& c, time_point) {
        const auto all = in.clients_;
        const auto at = all->by_channel.find(c[1]);
        if (at == all->by_channel.end()) return r::integer(0);
        const std::string bytes =
            to_resp2(r::array({r::bulk("message"), r::bulk(c[1]), r::bulk(c[2])}));
        std::int64_t count = 0;
        const std::vector<client_state*> subscribed = at->second;
        for (const client_state* one : subscribed) {
            if (!all->is_subscribed(one, c[1])) continue;  // ended by one before it
            ++count;
            const auto push = one->push;  // which may end its owner
            if (push) push(bytes);
        }
        return r::integer(count);
    }

    static r flush_all(redis_model& in, client_state&, const command&, time_point) {
        in.flush();
        return r::ok();
    }

    static r client_set_name(redis_model&, client_state& from, const command& c, time_point) {
        if (std::any_of(c[2].begin(), c[2].end(), [](char x) { return x < '!' || x > '~'; })) {
            return r::error(
                "ERR Client names cannot contain spaces, newlines or special characters.");
        }
        from.name = c[2];
        return r::ok();
    }

    // Without the filters of a server.
    static r client_list(redis_model& in, client_state&, const command& c, time_point) {
        if (c.size() > 2) return r::error("ERR syntax error");
        std::string out;
        for (const auto& [id, client] : in.clients_->by_id) {
            out += "id=" + std::to_string(id) + " addr=model:" + std::to_string(id) + " name=" +
                   client->name + " flags=N db=" + std::to_string(client->database) + "\n";
        }
        return r::bulk(std::move(out));
    }

    // By ID alone. The client that says it is spared, as by a server.
    static r client_kill(redis_model& in, client_state& from, const command& c, time_point) {
        std::uint64_t id = 0;
        const bool is_by_id = c.size() == 4 && in_upper_case(c[2]) == "ID" &&
                              std::from_chars(c[3].data(), c[3].data() + c[3].size(), id).ec ==
                                  std::errc();
        if (!is_by_id) return r::error("ERR syntax error");
        auto& all = in.clients_->by_id;
        const auto found = all.find(id);
        if (found == all.end() || found->second == &from) return r::integer(0);
        const auto end = found->second->hang_up;
        all.erase(found);
        if (end) end();
        return r::integer(1);
    }

    static r config_get(redis_model& in, client_state&, const command& c, time_point) {
        const std::pair<const char*, const char*> settings[] = {
            {"appendfsync", in.is_durable_ ? "always" : "everysec"},
            {"appendonly", in.is_durable_ ? "yes" : "no"},
            {"no-appendfsync-on-rewrite", "no"},
        };
        std::vector<r> found;
        for (const auto& [name, value] : settings) {
            const bool is_asked = std::any_of(
                c.begin() + 2, c.end(),
                [n = name](const auto& pattern) { return matches(in_lower_case(pattern), n); });
            if (!is_asked) continue;
            found.push_back(r::bulk(name));
            found.push_back(r::bulk(value));
        }
        return r::array(std::move(found));
    }

    static r info(redis_model& in, client_state&, const command& c, time_point) {
        const auto is_asked = [&](std::string_view section) {
            return c.size() == 1 || std::any_of(c.begin() + 1, c.end(), [&](const auto& wanted) {
                       const std::string s = in_lower_case(wanted);
                       return s == section || s == "all" || s == "default" || s == "everything";
                   });
        };
        std::string text;
        const auto begin = [&](std::string_view title) {
            if (!text.empty()) text += "\r\n";
            text.append("# ").append(title).append("\r\n");
        };
        if (is_asked("server")) {
            begin("Server");
            text += "redis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:" + in.run_id_ +
                    "\r\n";
        }
        if (is_asked("persistence")) {
            begin("Persistence");
            text += std::string("loading:") + (in.is_loading_ ? "1" : "0") +
                    "\r\naof_enabled:" + (in.is_durable_ && !in.is_loading_ ? "1" : "0") +
                    "\r\naof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0"
                    "\r\naof_last_bgrewrite_status:ok"
                    "\r\naof_last_write_status:ok\r\n";
        }
        if (is_asked("replication")) {
            begin("Replication");
            text += std::string("role:") + (in.is_replica_ ? "slave" : "master") +
                    "\r\nconnected_slaves:" + std::to_string(in.attached_replicas_) +
                    "\r\nmaster_replid:" + in.replid_ +
                    "\r\nmaster_replid2:" + in.replid2_ + "\r\n";
        }
        return r::bulk(std::move(text));
    }
};

const redis_model::known_command* redis_model::look_up(const command& c) {
    using namespace trait;
    using on = server_commands;
    constexpr unsigned listening = while_loading | while_subscribed | not_in_scripts;
    static constexpr known_command table[] = {
        {"GET", {2, 0}, get},
        {"GETRANGE", {4, 0}, getrange},
        {"MGET", {-2, 0}, mget},
        {"SET", {-3, writes | needs_memory}, set},
        {"DEL", {-2, writes}, del},
        {"EXISTS", {-2, 0}, exists},
        {"TYPE", {2, 0}, type},
        {"PTTL", {2, 0}, pttl},
        {"PEXPIRE", {-3, writes}, pexpire},
        {"PERSIST", {2, writes}, persist},
        {"RPUSH", {-3, writes | needs_memory}, rpush},
        {"SADD", {-3, writes | needs_memory}, sadd},
        {"SISMEMBER", {3, 0}, sismember},
        {"SCAN", {8, 0}, scan},
        {"ZADD", {-4, writes | needs_memory}, zadd},
        {"ZREM", {-3, writes}, zrem},
        {"ZCARD", {2, 0}, zcard},
        {"ZSCORE", {3, 0}, zscore},
        {"ZRANK", {3, 0}, zrank},
        {"ZRANGE", {-4, 0}, zrange},
        {"ZRANGEBYSCORE", {-4, 0}, zrangebyscore},
        {"ZREMRANGEBYSCORE", {4, writes}, zremrangebyscore},
        {"AUTH", {-2, while_loading | not_in_scripts | before_auth}, nullptr, on::auth},
        {"SELECT", {2, while_loading}, nullptr, on::select},
        {"PING", {-1, while_subscribed}, nullptr, on::ping},
        {"SUBSCRIBE", {-2, listening}, nullptr, on::subscribe},
        {"UNSUBSCRIBE", {-1, listening}, nullptr, on::unsubscribe},
        {"PUBLISH", {3, while_loading}, nullptr, on::publish},
        {"TIME", {1, while_loading}, nullptr, on::time},
        {"INFO", {-1, while_loading}, nullptr, on::info},
        {"FLUSHALL", {-1, writes}, nullptr, on::flush_all},
        {"CLIENT|SETNAME", {3, while_loading | not_in_scripts}, nullptr, on::client_set_name},
        {"CLIENT|LIST", {-2, while_loading | not_in_scripts}, nullptr, on::client_list},
        {"CLIENT|KILL", {-3, while_loading | not_in_scripts}, nullptr, on::client_kill},
        {"CONFIG|GET", {-3, while_loading | not_in_scripts}, nullptr, on::config_get},
        {"SCRIPT|EXISTS", {-3, not_in_scripts}, nullptr, on::script_exists},
        {"SCRIPT|LOAD", {3, not_in_scripts}, nullptr, on::script_load},
        {"SCRIPT|FLUSH", {-2, not_in_scripts}, nullptr, on::script_flush},
        {"EVAL", {-3, not_in_scripts}, nullptr, on::eval},
        {"EVALSHA", {-3, not_in_scripts}, nullptr, on::evalsha},
    };
    static const auto by_name = [] {
        std::unordered_map<std::string_view, const known_command*> all;
        for (const known_command& one : table) all.emplace(one.name, &one);
        return all;
    }();
    std::string name = in_upper_case(c.front());
    if (has_subcommands(name) && c.size() > 1) name += "|" + in_upper_case(c[1]);
    const auto it = by_name.find(name);
    return it != by_name.end() ? it->second : nullptr;
}
}  // namespace redlock::fakes

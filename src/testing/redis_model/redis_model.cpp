// A Redis master in memory, faults included.
// SPDX-License-Identifier: MIT
#include "testing/redis_model/redis_model.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

namespace redlock::fakes {

namespace {

using r = model_reply;

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

struct redis_model::server_command {
    command_traits traits;
    r (redis_model::*run)(client_state& from, const command& c, time_point now);
};

const redis_model::server_command* redis_model::find_server_command(std::string_view name) {
    using namespace trait;
    static const std::unordered_map<std::string_view, server_command> all = {
        {"AUTH", {{-2, while_loading | not_in_scripts | before_auth}, &redis_model::auth}},
        {"SELECT", {{2, while_loading}, &redis_model::select}},
        {"PING", {{-1, while_subscribed}, &redis_model::ping}},
        {"SUBSCRIBE",
         {{-2, while_loading | while_subscribed | not_in_scripts}, &redis_model::subscribe}},
        {"UNSUBSCRIBE",
         {{-1, while_loading | while_subscribed | not_in_scripts}, &redis_model::unsubscribe}},
        {"PUBLISH", {{3, while_loading}, &redis_model::publish}},
        {"TIME", {{1, while_loading}, &redis_model::time}},
        {"INFO", {{-1, while_loading}, &redis_model::info}},
        {"FLUSHALL", {{-1, writes}, &redis_model::flush_all}},
        {"CLIENT|SETNAME", {{3, while_loading | not_in_scripts}, &redis_model::client_set_name}},
        {"CONFIG|GET", {{-3, while_loading | not_in_scripts}, &redis_model::config_get}},
        {"SCRIPT|EXISTS", {{-3, not_in_scripts}, &redis_model::script_exists}},
        {"SCRIPT|LOAD", {{3, not_in_scripts}, &redis_model::script_load}},
        {"SCRIPT|FLUSH", {{-2, not_in_scripts}, &redis_model::script_flush}},
        {"EVAL", {{-3, not_in_scripts}, &redis_model::eval}},
        {"EVALSHA", {{-3, not_in_scripts}, &redis_model::evalsha}},
    };
    const auto it = all.find(name);
    return it != all.end() ? &it->second : nullptr;
}

std::optional<redis_model::known_command> redis_model::look_up(const command& c) {
    known_command what{in_upper_case(c.front())};
    if (has_subcommands(what.name) && c.size() > 1) what.name += "|" + in_upper_case(c[1]);
    what.on_data = find_data_command(what.name);
    what.on_server = what.on_data ? nullptr : find_server_command(what.name);
    if (!what.on_data && !what.on_server) return std::nullopt;
    what.traits = what.on_data ? what.on_data->traits : what.on_server->traits;
    return what;
}

redis_model::redis_model(std::uint64_t seed) : seed_(seed) { start_process(); }

void redis_model::start_process() {
    run_id_ = sha1_of(std::to_string(seed_) + ":" + std::to_string(starts_++));
    replid_ = next_replid();
    replid2_ = std::string(40, '0');
    has_backlog_ = false;
    cached_.clear();
    channels_ = std::make_shared<channels>();
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
    const auto what = look_up(c);
    if (!what) return unknown_command(c);
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
    if (what.on_data) {
        return what.on_data->run(databases_[from.database], c, wall.ms(now));
    }
    return (this->*what.on_server->run)(from, c, now);
}

/// What one script may do. Its time stands still.
class redis_model::script_run final : public script_host::caller {
public:
    script_run(redis_model& on, const client_state& from, time_point now) : on_(&on), now_(now) {
        from_.is_authenticated = from.is_authenticated;
        from_.database = from.database;
    }

    r on_call(const command& c) noexcept override {
        const auto what = look_up(c);
        if (!what) return r::error("ERR Unknown Redis command called from script");
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

// The number of keys is looked at first of all.
std::optional<r> redis_model::refuse_keys(const command& c) {
    std::int64_t keys = 0;
    if (!read_integer(c[2], keys)) return not_an_integer();
    if (keys > static_cast<std::int64_t>(c.size() - 3)) {
        return r::error("ERR Number of keys can't be greater than number of args");
    }
    if (keys < 0) return r::error("ERR Number of keys can't be negative");
    return std::nullopt;
}

r redis_model::run_script(const client_state& from, const std::string& sha1, const command& c,
                          time_point now) {
    const std::span<const std::string> rest(c.begin() + 3, c.end());
    const std::size_t keys = std::stoul(c[2]);
    script_run by(*this, from, now);
    return script_host::of_this_thread().run(sha1, cached_.at(sha1), rest.first(keys),
                                             rest.subspan(keys), by);
}

r redis_model::eval(client_state& from, const command& c, time_point now) {
    if (auto refusal = refuse_keys(c)) return std::move(*refusal);
    r compiled = load(c[1]);
    return compiled.is_error() ? compiled : run_script(from, compiled.text, c, now);
}

r redis_model::evalsha(client_state& from, const command& c, time_point now) {
    if (auto refusal = refuse_keys(c)) return std::move(*refusal);
    const std::string sha1 = in_lower_case(c[1]);
    if (!cached_.contains(sha1)) {
        return r::error("NOSCRIPT No matching script. Please use EVAL.");
    }
    return run_script(from, sha1, c, now);
}

r redis_model::load(const std::string& text) {
    r compiled = script_host::of_this_thread().compile(text);
    if (!compiled.is_error()) cached_.try_emplace(compiled.text, text);
    return compiled;
}

r redis_model::script_exists(client_state&, const command& c, time_point) {
    std::vector<r> found;
    for (std::size_t i = 2; i < c.size(); ++i) {
        found.push_back(r::integer(cached_.contains(in_lower_case(c[i])) ? 1 : 0));
    }
    return r::array(std::move(found));
}

r redis_model::script_load(client_state&, const command& c, time_point) { return load(c[2]); }

r redis_model::script_flush(client_state&, const command&, time_point) {
    cached_.clear();
    return r::ok();
}

r redis_model::auth(client_state& from, const command& c, time_point) {
    if (c.size() > 3) return r::error("ERR syntax error");
    if (c.size() == 2 && password.empty()) {
        return r::error(
            "ERR AUTH <password> called without any password configured for the default user. "
            "Are you sure your configuration is correct?");
    }
    const bool is_known = c.size() == 2 || c[1] == username;
    from.is_authenticated = is_known && (password.empty() || c.back() == password);
    if (from.is_authenticated) return r::ok();
    return r::error("WRONGPASS invalid username-password pair or user is disabled.");
}

r redis_model::select(client_state& from, const command& c, time_point) {
    std::int64_t i = 0;
    if (!read_integer(c[1], i)) return not_an_integer();
    if (i < 0 || i >= static_cast<std::int64_t>(databases_.size())) {
        return r::error("ERR DB index is out of range");
    }
    from.database = static_cast<std::size_t>(i);
    return r::ok();
}

r redis_model::ping(client_state& from, const command& c, time_point) {
    if (c.size() > 2) return r::error("ERR wrong number of arguments for 'ping' command");
    if (from.subscriptions() != 0) {
        return r::array({r::bulk("pong"), r::bulk(c.size() == 2 ? c[1] : "")});
    }
    return c.size() == 2 ? r::bulk(c[1]) : r::status("PONG");
}

r redis_model::time(client_state&, const command&, time_point now) {
    const std::int64_t us = wall.us(now);
    return r::array(
        {r::bulk(std::to_string(us / 1'000'000)), r::bulk(std::to_string(us % 1'000'000))});
}

r redis_model::subscribe(client_state& from, const command& c, time_point) {
    if (c.size() > 2) return more_than_one_channel();
    channels_->subscribe(from, c[1]);
    return subscription("subscribe", r::bulk(c[1]), from);
}

r redis_model::unsubscribe(client_state& from, const command& c, time_point) {
    const bool is_of_all = c.size() == 1;
    if (c.size() > 2 || (is_of_all && from.subscriptions() > 1)) return more_than_one_channel();
    const std::string* const only = is_of_all ? channels_->first_of(from) : &c[1];
    if (only == nullptr) return subscription("unsubscribe", r::nil(), from);
    const std::string name = *only;
    channels_->unsubscribe(from, name);
    return subscription("unsubscribe", r::bulk(name), from);
}

r redis_model::publish(client_state&, const command& c, time_point) {
    return r::integer(channels_->publish(c[1], c[2]));
}

r redis_model::flush_all(client_state&, const command&, time_point) {
    flush();
    return r::ok();
}

r redis_model::client_set_name(client_state&, const command& c, time_point) {
    if (std::any_of(c[2].begin(), c[2].end(), [](char x) { return x < '!' || x > '~'; })) {
        return r::error("ERR Client names cannot contain spaces, newlines or special characters.");
    }
    return r::ok();
}

r redis_model::config_get(client_state&, const command& c, time_point) {
    const std::pair<const char*, const char*> settings[] = {
        {"appendfsync", is_durable_ ? "always" : "everysec"},
        {"appendonly", is_durable_ ? "yes" : "no"},
        {"no-appendfsync-on-rewrite", "no"},
    };
    std::vector<r> found;
    for (const auto& [name, value] : settings) {
        const bool is_asked = std::any_of(c.begin() + 2, c.end(), [n = name](const auto& pattern) {
            return matches(in_lower_case(pattern), n);
        });
        if (!is_asked) continue;
        found.push_back(r::bulk(name));
        found.push_back(r::bulk(value));
    }
    return r::array(std::move(found));
}

r redis_model::info(client_state&, const command& c, time_point) {
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
        text += "redis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:" + run_id_ + "\r\n";
    }
    if (is_asked("persistence")) {
        begin("Persistence");
        text += std::string("loading:") + (is_loading_ ? "1" : "0") +
                "\r\naof_enabled:" + (is_durable_ ? "1" : "0") +
                "\r\naof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0"
                "\r\naof_last_bgrewrite_status:ok"
                "\r\naof_last_write_status:ok\r\n";
    }
    if (is_asked("replication")) {
        begin("Replication");
        text += std::string("role:") + (is_replica_ ? "slave" : "master") +
                "\r\nconnected_slaves:" + std::to_string(attached_replicas_) +
                "\r\nmaster_replid:" + replid_ + "\r\nmaster_replid2:" + replid2_ + "\r\n";
    }
    return r::bulk(std::move(text));
}

}  // namespace redlock::fakes

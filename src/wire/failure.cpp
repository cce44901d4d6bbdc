// Errors, INFO and TIME of a server, and the rights that a user lacks.
// SPDX-License-Identifier: MIT
#include "wire/failure.hpp"

#include "value/text.hpp"
#include "wire/request.hpp"
#include "wire/resp/command.hpp"


namespace redlock::wire {

failure read_failure(const resp::reply& reply) {
    if (reply.type() != resp::reply_type::error) {
        return {vote::refused, errc::protocol_error, "a reply of a kind the command can't have"};
    }
    error_code why = errc::server_error;
    for (const auto* code : {"NOAUTH", "WRONGPASS"}) {
        if (reply.is_error(code)) why = errc::auth_failed;
    }
    if (is_forbidden(reply.text())) why = errc::missing_right;
    if (reply.is_error("NOSCRIPT")) why = errc::script_rejected;
    if (reply.is_error("READONLY")) why = errc::not_master;
    if (reply.is_error("WRONGTYPE") || reply.is_error("FOREIGN")) why = errc::foreign_data;
    // A server that does not know a command repeats its arguments, and owner values are among them.
    const std::string_view words = reply.text();
    return {vote::refused, why, text::printable(words.substr(0, words.find(", with args")))};
}

// The bytes themselves are not shown: a server may answer with what it was sent, the password too.
std::string tell_of_other_server(std::string_view first_bytes, std::string_view why) {
    constexpr std::string_view alert("\x15\x03", 2);  // of a TLS server that got no handshake
    if (first_bytes.starts_with(alert)) return "the server expects TLS: use rediss://";
    const bool is_http = first_bytes.starts_with("HTTP/") || first_bytes.starts_with('<');
    const std::string kind = is_http                            ? "an HTTP server"
                             : first_bytes.starts_with("SSH-") ? "an SSH server"
                                                                : "a server of another kind";
    return text::printable(why) + ": " + kind + " listens there: name the port of a Redis server";
}

// Redis and proxies have words of their own for it.
std::string_view remedy_for_unknown_command(std::string_view words) noexcept {
    for (const auto* said : {"unknown command", "unsupported command", "invalid request"}) {
        if (words.find(said) == words.npos) continue;
        return "it may be a proxy: name the Redis servers behind it; or rename-command took this "
               "command away: give it back";
    }
    return {};
}

namespace {

// Not among the scripts of lua/: handshakes see that nodes have those, and this one runs once. SET
// comes first: a server without memory refuses it unless the script has written before. The other
// commands do nothing to a key that does not exist. Returns those that failed, each with the error.
constexpr std::string_view script = R"lua(
local failed = {}
local function try(...)
    local answer = redis.pcall(...)
    if type(answer) == 'table' and answer.err then
        failed[#failed + 1] = {string.lower((...)), answer.err}
    end
end
local key = KEYS[1]
try('SET', key, '', 'PX', 1000)
try('DEL', key)
try('GET', key)
try('GETRANGE', key, 0, 0)
try('PTTL', key)
try('PEXPIRE', key, 1)
if ARGV[2] == '1' then
    try('MGET', key)
    try('EXISTS', key)
    try('TIME')
    try('ZADD', key, 'XX', 0, '')
    try('ZCARD', key)
    try('ZRANGE', key, 0, 0)
    try('ZRANGEBYSCORE', key, 0, 0)
    try('ZREM', key, '')
    try('ZSCORE', key, '')
    try('ZREMRANGEBYSCORE', key, 0, 0)
    try('PUBLISH', ARGV[1], '')
end
return failed
)lua";

bool has(std::string_view text, std::string_view part) noexcept {
    return text.find(part) != text.npos;
}

// The word between the quotes behind `before`; empty where there is none.
std::string_view quoted_after(std::string_view text, std::string_view before) noexcept {
    const auto at = text.find(before);
    if (at == text.npos) return {};
    const auto first = at + before.size();
    return text.substr(first, text.find('\'', first) - first);
}

// Each version of Redis and Valkey has words of its own for these.
bool is_about_command(std::string_view words) noexcept {
    return has(words, "permissions to run") || has(words, "can't run");
}
bool is_about_channel(std::string_view words) noexcept {
    return has(words, "channels used as") || has(words, "access a channel") ||
           has(words, "to the channel") || has(words, "' channel");
}
bool is_about_key(std::string_view words) noexcept {
    return has(words, "keys used as") || has(words, "access a key") ||
           has(words, "one of the keys") || has(words, "' key");
}

void add_once(std::vector<std::string>& to, std::string right) {
    if (std::find(to.begin(), to.end(), right) == to.end()) to.push_back(std::move(right));
}

}  // namespace

void write_trial(std::string& out, std::string_view key_prefix, std::string_view channel,
                 bool is_fenced) {
    const std::string key = std::string(key_prefix) + "redlock:probe";
    resp::append_command(out, {"EVAL", script, "1", key, channel, is_fenced ? "1" : "0"});
}

void write_evalsha_check(std::string& out) {
    resp::append_command(out, {"EVALSHA", "0000000000000000000000000000000000000000", "0"});
}

void write_load_check(std::string& out) {
    resp::append_command(out, {"SCRIPT", "LOAD", resp::record().text});
}

trial read_trial(const resp::reply& reply, std::string_view key_prefix) {
    constexpr std::size_t most = 32;
    trial found;
    const auto note = [&](std::string_view command, std::string_view words) {
        if (is_forbidden(words)) {
            add_once(found.missing, missing_right(words, key_prefix, command));
        } else if (command == "set") {
            found.refused_write = text::printable(words);
        }
    };
    if (reply.type() == resp::reply_type::error) note("eval", reply.text());
    for (std::size_t i = 0; i < reply.size() && i < most; ++i) {
        if (reply[i].size() == 2) note(reply[i][0].text(), reply[i][1].text());
    }
    return found;
}

bool is_forbidden(std::string_view words) noexcept {
    return has(words, "NOPERM") || has(words, "executing the script can't") ||
           has(words, "No permissions") || has(words, "has no permissions");
}

std::string missing_right(std::string_view words, std::string_view key_prefix,
                          std::string_view command) {
    const std::string prefix = text::printable(key_prefix);
    if (is_about_command(words)) {
        const auto named = quoted_after(words, "permissions to run the '");
        // Redis 6.0 names the command alone, without what of it was tried.
        const bool is_less =
            command.starts_with(named) && command.substr(named.size()).starts_with('|');
        return text::printable(named.empty() || is_less ? command : named);
    }
    if (has(words, "access database")) return "db=N";  // N is the one of the node's entry
    if (is_about_channel(words)) return "&" + text::printable(wake_channel(key_prefix, "*"));
    if (is_about_key(words)) return "~" + prefix + "*";
    return text::printable(command);
}

std::string remedy_for(std::string_view words, std::string_view key_prefix,
                       std::string_view command) {
    std::vector<std::string> missing;
    if (auto right = missing_right(words, key_prefix, command); !right.empty()) {
        missing.push_back(std::move(right));
    }
    return remedy_for_missing(missing, key_prefix);
}

std::string remedy_for_missing(const std::vector<std::string>& missing,
                               std::string_view key_prefix) {
    if (missing.empty()) return "give this user the rights that docs/nodes.md lists";
    std::string out = "give this user";
    bool needs_keys = false;
    for (const std::string& right : missing) {
        const bool is_command = std::string_view("~&").find(right[0]) == std::string_view::npos &&
                                !right.starts_with("db=");
        out += (is_command ? " +" : " ") + right;
        needs_keys = needs_keys || right.starts_with('~');
    }
    if (!needs_keys) return out;
    return out + ", or give all clients " + (key_prefix.empty() ? "a" : "another") +
           " key_prefix that it may use";
}

std::optional<std::int64_t> read_time(const resp::reply& reply) {
    const auto seconds = text::whole_number<std::int64_t>(reply[0].text());
    const auto us = text::whole_number<std::int64_t>(reply[1].text());
    constexpr std::int64_t latest = 9'000'000'000;  // the fences end there, in 2255
    const bool is_time = seconds && us && *seconds >= 0 && *seconds <= latest && *us >= 0 &&
                         *us < 1'000'000;
    return is_time ? std::optional(*seconds * 1'000'000 + *us) : std::nullopt;
}

std::chrono::milliseconds read_pttl(std::int64_t answer) noexcept {
    constexpr std::chrono::milliseconds longest = std::chrono::hours(24 * 366);
    if (answer == -2) return std::chrono::milliseconds(0);
    // Nobody looks that far ahead, and a year can be reckoned with in nanoseconds.
    return std::clamp(std::chrono::milliseconds(answer), std::chrono::milliseconds(-1), longest);
}

}  // namespace redlock::wire

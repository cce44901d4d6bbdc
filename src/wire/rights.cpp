// Which commands a user may not run on our keys and channels.
// SPDX-License-Identifier: MIT
#include "wire/rights.hpp"

#include "wire/resp/command.hpp"

#include <array>

namespace redlock::wire {

namespace {

// Not among the scripts of lua/: those are loaded in every handshake, and this one runs once. The key
// never exists; SET with XX, ZADD with XX, PEXPIRE and the rest do nothing to a key that does not.
constexpr std::string_view script = R"lua(
local refused = {}
local function try(...)
    local answer = redis.pcall(...)
    local why = type(answer) == 'table' and answer.err or ''
    if string.find(why, 'NOPERM', 1, true) or string.find(why, "executing the script can't", 1, true)
        or string.find(why, 'No permissions', 1, true) then
        refused[#refused + 1] = string.lower((...))
    end
end
local key = KEYS[1]
try('GET', key)
try('SET', key, '', 'XX')
try('DEL', key)
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
return refused
)lua";

}  // namespace

void write_rights_check(std::string& out, std::string_view key_prefix, std::string_view channel,
                        bool is_fenced) {
    const std::string key = std::string(key_prefix) + "redlock:probe";
    resp::append_command(out, {"EVAL", script, "1", key, channel, is_fenced ? "1" : "0"});
}

void write_evalsha_check(std::string& out) {
    resp::append_command(out, {"EVALSHA", "0000000000000000000000000000000000000000", "0"});
}

std::vector<std::string> read_rights(const resp::reply& reply) {
    constexpr std::size_t most = 32;
    if (is_forbidden(reply)) return {"eval"};
    std::vector<std::string> refused;
    for (std::size_t i = 0; i < reply.size() && i < most; ++i) {
        refused.emplace_back(reply[i].text());
    }
    return refused;
}

bool is_forbidden(const resp::reply& reply) noexcept { return reply.is_error("NOPERM"); }

}  // namespace redlock::wire

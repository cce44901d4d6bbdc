// Runs scripts in an embedded Lua 5.1 as a server does, within its memory.
// SPDX-License-Identifier: MIT
#include "testing/script_host.hpp"

#include <boost/uuid/detail/sha1.hpp>

#include <cstdio>
#include <lua.hpp>
#include <utility>

namespace redlock::fakes {

namespace {

constexpr const char* caller_slot = "redlock.caller";

void push_text(lua_State* lua, const std::string& text) {
    lua_pushlstring(lua, text.data(), text.size());
}

void push_field_table(lua_State* lua, const char* field, const std::string& text) {
    lua_createtable(lua, 0, 1);
    push_text(lua, text);
    lua_setfield(lua, -2, field);
}

void push_error(lua_State* lua, const char* text) { push_field_table(lua, "err", text); }

void push_reply(lua_State* lua, const model_reply& r) {
    lua_checkstack(lua, 4);
    switch (r.type) {
        case model_reply::kind::nil: lua_pushboolean(lua, 0); break;
        case model_reply::kind::integer:
            lua_pushnumber(lua, static_cast<lua_Number>(r.number));
            break;
        case model_reply::kind::status: push_field_table(lua, "ok", r.text); break;
        case model_reply::kind::error: push_field_table(lua, "err", r.text); break;
        case model_reply::kind::bulk: push_text(lua, r.text); break;
        case model_reply::kind::array:
            lua_createtable(lua, static_cast<int>(r.items.size()), 0);
            for (std::size_t i = 0; i < r.items.size(); ++i) {
                push_reply(lua, r.items[i]);
                lua_rawseti(lua, -2, static_cast<int>(i + 1));
            }
    }
}

std::string text_at(lua_State* lua, int index) {
    std::size_t size = 0;
    const char* const text = lua_tolstring(lua, index, &size);
    return {text, size};
}

// The field of the table on top, where it is a string.
bool read_field(lua_State* lua, const char* name, std::string& out) {
    lua_pushstring(lua, name);
    lua_rawget(lua, -2);
    const bool is_text = lua_type(lua, -1) == LUA_TSTRING;
    if (is_text) out = text_at(lua, -1);
    lua_pop(lua, 1);
    return is_text;
}

// Towards zero; beyond the range of an integer what the processors of most servers make of it.
std::int64_t truncated(lua_Number n) {
    constexpr lua_Number limit = 9223372036854775808.0;
    return n >= -limit && n < limit ? static_cast<std::int64_t>(n) : INT64_MIN;
}

// What is on top, as a reply.
model_reply read_reply(lua_State* lua) {
    lua_checkstack(lua, 4);
    switch (lua_type(lua, -1)) {
        case LUA_TSTRING: return model_reply::bulk(text_at(lua, -1));
        case LUA_TNUMBER: return model_reply::integer(truncated(lua_tonumber(lua, -1)));
        case LUA_TBOOLEAN:
            return lua_toboolean(lua, -1) != 0 ? model_reply::integer(1) : model_reply::nil();
        case LUA_TTABLE: break;
        default: return model_reply::nil();
    }
    std::string text;
    if (read_field(lua, "err", text)) return model_reply::error(text);
    if (read_field(lua, "ok", text)) return model_reply::status(text);
    std::vector<model_reply> items;
    items.reserve(lua_objlen(lua, -1));
    for (int i = 1;; ++i) {
        lua_rawgeti(lua, -1, i);
        const bool is_end = lua_isnil(lua, -1);
        if (!is_end) items.push_back(read_reply(lua));
        lua_pop(lua, 1);
        if (is_end) return model_reply::array(std::move(items));
    }
}

// Carries out the command that the arguments are. Its reply, or an error, is on top then; true
// where it is an error.
bool perform(lua_State* lua) {
    const int n = lua_gettop(lua);
    if (n == 0) {
        push_error(lua, "ERR Please specify at least one argument for this redis lib call");
        return true;
    }
    std::vector<std::string> words;
    words.reserve(static_cast<std::size_t>(n));
    for (int i = 1; i <= n; ++i) {
        if (lua_type(lua, i) == LUA_TNUMBER) {
            char digits[64];
            std::snprintf(digits, sizeof digits, "%.17g", lua_tonumber(lua, i));
            words.emplace_back(digits);
        } else if (lua_type(lua, i) == LUA_TSTRING) {
            words.push_back(text_at(lua, i));
        } else {
            push_error(lua, "ERR Lua redis lib command arguments must be strings or integers");
            return true;
        }
    }
    lua_getfield(lua, LUA_REGISTRYINDEX, caller_slot);
    auto* const by = static_cast<script_host::caller*>(lua_touserdata(lua, -1));
    lua_pop(lua, 1);
    const model_reply answer = by->on_call(words);
    push_reply(lua, answer);
    return answer.is_error();
}

int redis_call(lua_State* lua) { return perform(lua) ? lua_error(lua) : 1; }

int redis_pcall(lua_State* lua) {
    perform(lua);
    return 1;
}

void push_named_reply(lua_State* lua, const char* field) {
    if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) {
        return push_error(lua, "ERR wrong number or type of arguments");
    }
    std::string text = text_at(lua, 1);
    if (field == std::string_view("err")) {
        if (text.starts_with('-')) text.erase(0, 1);
        if (text.find(' ') == std::string::npos) text.insert(0, "ERR ");
    }
    push_field_table(lua, field, text);
}

int redis_error_reply(lua_State* lua) {
    push_named_reply(lua, "err");
    return 1;
}

int redis_status_reply(lua_State* lua) {
    push_named_reply(lua, "ok");
    return 1;
}

int redis_sha1hex(lua_State* lua) {
    if (lua_gettop(lua) != 1) {
        push_error(lua, "wrong number of arguments");
        return lua_error(lua);
    }
    std::size_t size = 0;
    const char* const text = lua_tolstring(lua, 1, &size);
    const std::string digest = sha1_of(std::string_view(text, size));
    lua_pushlstring(lua, digest.data(), digest.size());
    return 1;
}

// Lua's own, but for a script an error is its text, not the table that carries it.
int protected_call(lua_State* lua) {
    luaL_checkany(lua, 1);
    const bool is_good = lua_pcall(lua, lua_gettop(lua) - 1, LUA_MULTRET, 0) == 0;
    if (!is_good && lua_istable(lua, -1)) {
        lua_getfield(lua, -1, "err");
        if (lua_isstring(lua, -1)) {
            lua_replace(lua, -2);
        } else {
            lua_pop(lua, 1);
        }
    }
    lua_pushboolean(lua, is_good);
    lua_insert(lua, 1);
    return lua_gettop(lua);
}

// Makes a table of what was raised, and notes where.
int on_error(lua_State* lua) {
    if (!lua_istable(lua, 1)) {
        const char* const what = lua_isstring(lua, 1) ? lua_tostring(lua, 1) : "nil";
        lua_newtable(lua);
        lua_pushfstring(lua, "ERR %s", what);
        lua_setfield(lua, -2, "err");
        lua_replace(lua, 1);
    }
    lua_settop(lua, 1);
    lua_Debug at{};
    bool is_known = lua_getstack(lua, 1, &at) != 0 && lua_getinfo(lua, "Sl", &at) != 0;
    if (is_known && at.what == std::string_view("C")) {
        is_known = lua_getstack(lua, 2, &at) != 0 && lua_getinfo(lua, "Sl", &at) != 0;
    }
    if (is_known) {
        lua_pushfstring(lua, "%s:%d", at.source, at.currentline);
        lua_setfield(lua, 1, "where");
    }
    return 1;
}

int on_unknown_global(lua_State* lua) {
    return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'",
                      lua_isstring(lua, 2) ? lua_tostring(lua, 2) : "?");
}

int on_global_written(lua_State* lua) {
    return luaL_error(lua, "Attempt to modify a readonly table");
}

void open_library(lua_State* lua, const char* name, lua_CFunction open) {
    lua_pushcfunction(lua, open);
    lua_pushstring(lua, name);
    lua_call(lua, 1, 0);
}

void set_function(lua_State* lua, const char* name, lua_CFunction what) {
    lua_pushcfunction(lua, what);
    lua_setfield(lua, -2, name);
}

constexpr const char* globals_slot = "redlock.globals";

}  // namespace

std::string sha1_of(std::string_view text) {
    boost::uuids::detail::sha1 sha1;
    sha1.process_bytes(text.data(), text.size());
    boost::uuids::detail::sha1::digest_type digest;
    sha1.get_digest(digest);
    std::string out;
    for (const auto part : digest) {  // words in some versions of Boost, bytes in others
        char digits[9];
        std::snprintf(digits, sizeof digits, "%0*x", static_cast<int>(2 * sizeof part),
                      static_cast<unsigned>(part));
        out += digits;
    }
    return out;
}

void script_host::closing::operator()(lua_State* lua) const noexcept { lua_close(lua); }

script_host::script_host() : lua_(lua_newstate(script_memory::on_request, &memory_)) {
    lua_State* const lua = lua_.get();
    if (lua == nullptr) throw std::bad_alloc();
    open_library(lua, "", luaopen_base);
    open_library(lua, LUA_TABLIBNAME, luaopen_table);
    open_library(lua, LUA_STRLIBNAME, luaopen_string);
    open_library(lua, LUA_MATHLIBNAME, luaopen_math);
    lua_pushcfunction(lua, protected_call);
    lua_setglobal(lua, "pcall");
    lua_newtable(lua);
    set_function(lua, "call", redis_call);
    set_function(lua, "pcall", redis_pcall);
    set_function(lua, "error_reply", redis_error_reply);
    set_function(lua, "status_reply", redis_status_reply);
    set_function(lua, "sha1hex", redis_sha1hex);
    lua_pushinteger(lua, 0x0007000f);  // the version that INFO tells
    lua_setfield(lua, -2, "REDIS_VERSION_NUM");
    lua_setglobal(lua, "redis");
    protect_globals();
}

script_host::~script_host() = default;

script_host& script_host::of_this_thread() {
    thread_local script_host host;
    return host;
}

// Scripts see the globals through a table that takes no new ones, and learn of a missing one.
void script_host::protect_globals() {
    lua_State* const lua = lua_.get();
    for (const char* name : {"print", "loadfile", "dofile", "collectgarbage", "gcinfo", "module",
                             "newproxy", "rawset"}) {
        lua_pushnil(lua);
        lua_setglobal(lua, name);
    }
    lua_getglobal(lua, LUA_MATHLIBNAME);
    for (const char* name : {"random", "randomseed"}) {  // the C library's, shared by everybody
        lua_pushnil(lua);
        lua_setfield(lua, -2, name);
    }
    lua_pop(lua, 1);
    lua_newtable(lua);  // what scripts see
    lua_newtable(lua);  // its metatable
    lua_pushvalue(lua, LUA_GLOBALSINDEX);
    lua_setfield(lua, -2, "__index");
    set_function(lua, "__newindex", on_global_written);
    lua_setmetatable(lua, -2);
    lua_pushvalue(lua, -1);
    lua_setglobal(lua, "_G");
    lua_setfield(lua, LUA_REGISTRYINDEX, globals_slot);
    lua_newtable(lua);  // the metatable of the globals
    set_function(lua, "__index", on_unknown_global);
    lua_setmetatable(lua, LUA_GLOBALSINDEX);
}

model_reply script_host::compile(const std::string& text) {
    // Many are the same: looking one up is cheaper than its SHA1.
    if (const auto known = known_.find(text); known != known_.end()) {
        return model_reply::bulk(known->second);
    }
    lua_State* const lua = lua_.get();
    if (luaL_loadbuffer(lua, text.data(), text.size(), "@user_script") != 0) {
        const std::string why = text_at(lua, -1);
        lua_pop(lua, 1);
        return model_reply::error("ERR Error compiling script (new function): " + why);
    }
    lua_getfield(lua, LUA_REGISTRYINDEX, globals_slot);
    lua_setfenv(lua, -2);
    const std::string sha1 = sha1_of(text);
    compiled_.emplace(sha1, luaL_ref(lua, LUA_REGISTRYINDEX));
    known_.emplace(text, sha1);
    return model_reply::bulk(sha1);
}

void script_host::set_list(const char* name, std::span<const std::string> values) {
    lua_State* const lua = lua_.get();
    lua_createtable(lua, static_cast<int>(values.size()), 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
        push_text(lua, values[i]);
        lua_rawseti(lua, -2, static_cast<int>(i + 1));
    }
    lua_setglobal(lua, name);
}

model_reply script_host::run(const std::string& sha1, const std::string& text,
                             std::span<const std::string> keys, std::span<const std::string> args,
                             caller& by) {
    if (!compiled_.contains(sha1)) compile(text);  // by another thread until now
    lua_State* const lua = lua_.get();
    set_list("KEYS", keys);
    set_list("ARGV", args);
    lua_pushlightuserdata(lua, &by);
    lua_setfield(lua, LUA_REGISTRYINDEX, caller_slot);
    lua_pushcfunction(lua, on_error);
    lua_rawgeti(lua, LUA_REGISTRYINDEX, compiled_.at(sha1));
    const bool is_good = lua_pcall(lua, 0, 1, -2) == 0;
    model_reply answer;
    if (is_good) {
        answer = read_reply(lua);
    } else {
        std::string what = "ERR unknown error";
        std::string where;
        if (lua_istable(lua, -1)) {
            read_field(lua, "err", what);
            if (read_field(lua, "where", where)) where = ", on " + where;
        }
        answer = model_reply::error(what + " script: " + sha1 + where + ".");
    }
    lua_settop(lua, 0);
    return answer;
}

}  // namespace redlock::fakes

// A real server for the scripts alone, emptied for each test; knows nothing of clients and quorums.
// SPDX-License-Identifier: MIT
#pragma once

#include "../../support/catch.hpp"
#include "../../support/requests.hpp"
#include "direct.hpp"
#include "redis_server.hpp"
#include "wire/resp/command.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::testing {

using namespace std::chrono_literals;

// What the scripts take for the server's time, so that each boundary is met to the microsecond.
inline constexpr long long now_us = 1'700'000'000'000'005;
inline constexpr long long tolerance_us = 15'000'000;
inline constexpr long long highest_fence = 9'007'199'254'740'991;

inline const std::string ours = "AAAAAAAAAAAAAAAAAAAAAA@here:1";
inline const std::string theirs = "BBBBBBBBBBBBBBBBBBBBBB@there:2";
inline const std::string epoch = "0123456789abcdefghij-_";
inline const std::string other_epoch = "zzzzzzzzzzzzzzzzzzzzzz";

inline std::string text(long long number) { return std::to_string(number); }

inline std::string with_held_clock(std::string_view script, long long us = now_us) {
    const std::string question = "redis.call('TIME')";
    const std::string answer = "{'" + text(us / 1'000'000) + "', '" + text(us % 1'000'000) + "'}";
    std::string out(script);
    for (auto at = out.find(question); at != std::string::npos; at = out.find(question, at)) {
        out.replace(at, question.size(), answer);
    }
    return out;
}

// "1", "{4 7}", "+OK", "nil"; of an error its first word, "!FOREIGN".
inline std::string show(const reply& r) {
    switch (r.type) {
        case reply::kind::nil: return "nil";
        case reply::kind::status: return "+" + r.text;
        case reply::kind::error: return "!" + r.text.substr(0, r.text.find(' '));
        case reply::kind::integer: return text(r.number);
        case reply::kind::string: return r.text;
        case reply::kind::array: break;
    }
    std::string out;
    for (const auto& item : r.items) out += (out.empty() ? "" : " ") + show(item);
    return "{" + out + "}";
}

struct waiter {
    std::string id;
    long long ticket = 0;
    long long life_ms = 2000;
};

// Where the companions of a key are; those of "K" have names of one letter, too.
inline std::string fence_of(const std::string& key) { return key == "K" ? "F" : key + ":F"; }
inline std::string queue_of(const std::string& key) { return key == "K" ? "Q" : key + ":Q"; }

inline asked about(ask what, const std::string& key, const std::string& owner) {
    asked out;
    out.what = what;
    out.key = key;
    out.fence_key = fence_of(key);
    out.queue = queue_of(key);
    out.value = owner;
    return out;
}
inline asked to_acquire(const std::string& key, long long fence, const std::string& owner = ours,
                        long long ttl_ms = 30'000) {
    asked out = about(ask::acquire, key, owner);
    out.ttl = text(ttl_ms);
    out.fence = text(fence);
    return out;
}
inline asked to_extend(const std::string& key, long long fence, const std::string& owner = ours,
                       long long ttl_ms = 30'000) {
    asked out = to_acquire(key, fence, owner, ttl_ms);
    out.what = ask::extend;
    return out;
}
inline asked to_release(const std::string& key, const std::string& owner = ours) {
    return about(ask::release, key, owner);
}
/// Gives back what may still be taken by commands in a broken connection, under `highest` at most.
inline asked to_release_for_good(const std::string& key, long long highest,
                                 const std::string& owner = ours) {
    asked out = to_release(key, owner);
    out.fence = text(highest);
    return out;
}
/// Gives back a key that has to stay in others' way for so long.
inline asked to_keep(const std::string& key, long long keep_ms, const std::string& owner = ours) {
    asked out = to_release(key, owner);
    out.keep = text(keep_ms);
    return out;
}
/// The request of one that waits; of a release with no life: that waits no more.
inline asked as_waiter(asked what, const waiter& who) {
    what.id = who.id;
    what.ticket = text(who.ticket);
    what.life = text(who.life_ms);
    return what;
}

/// The request of one that would share the key.
inline asked as_reader(asked what) {
    what.readers = what.key + ":R";
    return what;
}

/// What holds for all requests of a call.
struct terms {
    std::string from_epoch = epoch;
    std::string not_after{};
    std::string record = "N";
    long long clock_us = now_us;
};

// A server that is emptied for each test, with a record on it, and the keys of resource "K".
class scripted_node : public direct {
public:
    scripted_node() : direct(server().port()) {
        config_set("maxmemory", "0");
        command({"FLUSHALL"});
        set("N", epoch + " run_id=" + std::string(40, 'a') +
                     " durable=0 since=0 created=5 quarantine=60000 ttl_max=60000 set=3:set");
    }

    static redis_server& server() {
        static redis_server one;
        return one;
    }

    std::string eval(std::string_view script, const std::vector<std::string>& keys,
                     const std::vector<std::string>& args) {
        std::vector<std::string> words{"EVAL", std::string(script), std::to_string(keys.size())};
        words.insert(words.end(), keys.begin(), keys.end());
        words.insert(words.end(), args.begin(), args.end());
        last_ = command(words);
        return show(last_);
    }
    const reply& last() const { return last_; }

    /// One call of requests.lua.
    std::string request(const std::vector<asked>& all, const terms& t = {}) {
        const requests call{t.record, t.from_epoch, t.not_after, text(tolerance_us), "0", all};
        return eval(with_held_clock(resp::requests().text, t.clock_us), keys_of(call),
                    arguments_of(call));
    }
    /// One call of plain.lua. A plain lock has neither a fence nor a queue.
    std::string request_plain(const std::vector<asked>& all) {
        std::vector<std::string> keys;
        std::vector<std::string> args;
        for (const auto& one : all) {
            keys.push_back(one.key);
            const bool extends = one.what == ask::extend;
            const bool keeps = !one.keep.empty();
            args.insert(args.end(),
                        {extends ? "extend" : keeps ? "keep" : "release", one.value});
            if (extends || keeps) args.push_back(extends ? one.ttl : one.keep);
        }
        return eval(resp::plain().text, keys, args);
    }

    void make_list(const std::string& key) { command({"RPUSH", key, "x"}); }
    std::string type(const std::string& key) { return command({"TYPE", key}).text; }
    void take(const std::string& key, const std::string& owner, std::chrono::milliseconds ttl) {
        REQUIRE(set_nx_px(key, owner, ttl));
    }
    // To within what a slow machine needs.
    bool lives(const std::string& key, std::chrono::milliseconds ttl) {
        return pttl(key) <= ttl && pttl(key) > ttl - 5s;
    }
    // No byte more may be written.
    void run_out_of_memory() { config_set("maxmemory", "1"); }

private:
    reply last_;
};

/// One that listens for the keys of which messages come to a client.
class wake_listener {
public:
    explicit wake_listener(const std::string& client, const std::string& prefix = {})
        : way_(scripted_node::server().port()) {
        way_.command({"SUBSCRIBE", prefix + "redlock:wake:" + client});
    }
    /// What was published since, one after the other.
    std::string heard() {
        const std::string token = text(++asked_);
        std::string out;
        for (;;) {
            const auto r = way_.command({"PING", token});
            REQUIRE(r.items.size() >= 2);
            if (r.items[0].text == "message") out += (out.empty() ? "" : " ") + r.items[2].text;
            if (r.items[0].text == "pong" && r.items[1].text == token) return out;
        }
    }

private:
    direct way_;
    int asked_ = 0;
};

}  // namespace redlock::testing

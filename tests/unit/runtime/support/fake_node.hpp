// A Redis master in memory, as far as the library speaks to one; knows no client and no clock.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/quorum.hpp"
#include "resp/parser.hpp"
#include "resp/scripts.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::fakes {

using core::time_point;
using command = std::vector<std::string>;

/// What the server keeps of one connection.
struct connection {
    resp::parser parser;
    bool is_authenticated = false;
};

/// Decodes commands as they stand on the wire.
inline std::vector<command> decode(resp::parser& parser, std::string_view bytes) {
    std::vector<command> out;
    resp::reply r;
    while (parser.feed(bytes, r) == resp::parser::outcome::complete) {
        command c;
        for (std::size_t i = 0; i < r.size(); ++i) c.emplace_back(r[i].text());
        out.push_back(std::move(c));
    }
    return out;
}

inline std::string bulk(std::string_view s) {
    return "$" + std::to_string(s.size()) + "\r\n" + std::string(s) + "\r\n";
}

class fake_node {
public:
    struct key {
        std::string value;
        time_point expires;
    };

    std::string password{};
    /// Answers in place of the node where it returns something.
    std::function<std::optional<std::string>(const command&)> instead{};
    std::vector<command> seen{};

    std::string answer(connection& from, std::string_view bytes, time_point now) {
        std::string out;
        for (const command& c : decode(from.parser, bytes)) {
            seen.push_back(c);
            auto said = instead ? instead(c) : std::nullopt;
            out += said ? *said : execute(from, c, now);
        }
        return out;
    }

    /// The keys that have not run out.
    std::map<std::string, key> keys(time_point now) const {
        std::map<std::string, key> left;
        for (const auto& [name, k] : keys_) {
            if (k.expires > now) left.emplace(name, k);
        }
        return left;
    }
    void put(const std::string& name, const std::string& value, time_point expires) {
        keys_[name] = {value, expires};
    }
    void remove(const std::string& name) { keys_.erase(name); }
    void flush_scripts() { scripts_.clear(); }
    void lose_everything() {
        keys_.clear();
        scripts_.clear();
    }
    std::size_t count(std::string_view verb) const {
        std::size_t n = 0;
        for (const command& c : seen) n += c.front() == verb ? 1U : 0U;
        return n;
    }

private:
    key* find(const std::string& name, time_point now) {
        const auto it = keys_.find(name);
        if (it == keys_.end()) return nullptr;
        if (it->second.expires > now) return &it->second;
        keys_.erase(it);
        return nullptr;
    }

    std::string execute(connection& from, const command& c, time_point now) {
        const std::string& verb = c.front();
        if (verb == "AUTH") {
            from.is_authenticated = c.back() == password;
            return from.is_authenticated ? "+OK\r\n"
                                         : "-WRONGPASS invalid username-password pair\r\n";
        }
        if (!password.empty() && !from.is_authenticated) {
            return "-NOAUTH Authentication required.\r\n";
        }
        if (verb == "SELECT" || verb == "CLIENT") return "+OK\r\n";
        if (verb == "SCRIPT") return load(c.at(2));
        if (verb == "SET") return set(c, now);
        if (verb == "EVALSHA" || verb == "EVAL") return run(c, now);
        key* const k = find(c.at(1), now);
        if (verb == "GET") return k ? bulk(k->value) : "$-1\r\n";
        if (verb == "PTTL") {
            using std::chrono::milliseconds;
            if (k == nullptr) return ":-2\r\n";
            const auto left = std::chrono::ceil<milliseconds>(k->expires - now);
            return ":" + std::to_string(left.count()) + "\r\n";
        }
        return "-ERR unknown command\r\n";
    }

    std::string load(const std::string& text) {
        for (const auto& s : resp::all_scripts()) {
            if (s.text != text) continue;
            scripts_.insert(std::string(s.sha1));
            return bulk(s.sha1);
        }
        return "-ERR not one of ours\r\n";
    }

    std::string set(const command& c, time_point now) {
        if (find(c.at(1), now) != nullptr) return "$-1\r\n";
        put(c.at(1), c.at(2), now + std::chrono::milliseconds(std::stoll(c.at(5))));
        return "+OK\r\n";
    }

    std::string run(const command& c, time_point now) {
        const resp::script* which = nullptr;
        for (const auto& s : resp::all_scripts()) {
            if (c.at(1) == (c.front() == "EVAL" ? s.text : s.sha1)) which = &s;
        }
        if (which == nullptr) return "-ERR not one of ours\r\n";
        if (c.front() == "EVALSHA" && scripts_.count(std::string(which->sha1)) == 0) {
            return "-NOSCRIPT No matching script. Please use EVAL.\r\n";
        }
        scripts_.insert(std::string(which->sha1));
        key* const k = find(c.at(3), now);
        if (k == nullptr) return ":-1\r\n";
        if (k->value != c.at(4)) return ":0\r\n";
        if (which->name == resp::compare_delete().name) {
            keys_.erase(c.at(3));
        } else {
            k->expires = std::max(k->expires, now + std::chrono::milliseconds(std::stoll(c.at(5))));
        }
        return ":1\r\n";
    }

    std::map<std::string, key> keys_;
    std::set<std::string> scripts_;
};

}  // namespace redlock::fakes

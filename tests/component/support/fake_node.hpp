// A node of a world: the Redis master in memory, spoken to in bytes; knows no client and no clock.
// SPDX-License-Identifier: MIT
#pragma once

#include "testing/model.hpp"
#include "wire/resp/reply.hpp"

#include <redlock/options.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::fakes {

/// What the server keeps of one connection.
struct connection : client_state {
    resp::parser parser{};
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

/// How the tests name a node without rights, and one that wants a user and a password.
inline const std::string secret = "hunter2-swordfish";
inline node_options plain_node() { return {}; }
inline node_options guarded_node() {
    node_options n;
    n.username = "ann";
    n.password = secret;
    n.database = 3;
    return n;
}

inline std::string bulk(std::string_view s) {
    return to_resp2(model_reply::bulk(std::string(s)));
}

class fake_node final : public redis_model {
public:
    struct key {
        std::string value;
        time_point expires;
    };

    using redis_model::redis_model;

    /// Answers in place of the node where it returns something.
    std::function<std::optional<std::string>(const command&)> instead{};
    std::vector<command> seen{};

    std::string answer(connection& from, std::string_view bytes, time_point now) {
        std::string out;
        for (const command& c : decode(from.parser, bytes)) {
            seen.push_back(c);
            auto said = instead ? instead(c) : std::nullopt;
            out += said ? *said : to_resp2(execute(from, c, now));
        }
        return out;
    }

    /// The strings that have not run out, with those that the library keeps for itself.
    std::map<std::string, key> all_keys(time_point now) const {
        std::map<std::string, key> left;
        for (const auto& [name, k] : database().all()) {
            if (k.text() == nullptr || k.is_gone(wall.ms(now))) continue;
            left.emplace(name, key{*k.text(), k.expires_ms
                                                  ? wall.when_us((*k.expires_ms + 1) * 1000)
                                                  : time_point::max()});
        }
        return left;
    }
    /// The locks alone: no fence, no node record.
    std::map<std::string, key> keys(time_point now) const {
        auto left = all_keys(now);
        std::erase_if(left, [](const auto& k) {
            return k.first.ends_with("}:fence") || k.first.ends_with("redlock:node");
        });
        return left;
    }
    /// Without end where `expires` is the end of time.
    void put(const std::string& name, const std::string& value, time_point expires) {
        stored what{value};
        // The last ms that sees it is the one before.
        if (expires != time_point::max()) what.expires_ms = (wall.us(expires) + 999) / 1000 - 1;
        database().put(name, std::move(what));
    }
    void remove(const std::string& name) { database().erase(name, 0); }
    /// A restart without data.
    void lose_everything() { crash(data::lost); }
    std::size_t count(std::string_view verb) const {
        std::size_t n = 0;
        for (const command& c : seen) n += c.front() == verb ? 1U : 0U;
        return n;
    }
};

}  // namespace redlock::fakes

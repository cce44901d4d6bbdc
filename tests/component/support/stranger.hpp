// Another client, as the nodes of a world see one; knows no engine.
// SPDX-License-Identifier: MIT
#pragma once

#include "component/support/world.hpp"
#include "support/requests.hpp"
#include "wire/request.hpp"
#include "wire/resp/command.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace redlock::fakes {

using testing::ask;

/// A waiter in a node's queue.
struct queued_entry {
    std::string id{};
    double ticket = 0;
    std::int64_t until_ms = 0;

    bool operator==(const queued_entry&) const = default;
};

inline std::vector<queued_entry> queue_of(world& w, std::size_t node, std::string_view resource) {
    std::vector<queued_entry> out;
    auto& on = w.nodes[node];
    const auto key =
        wire::queue_key(w.options.key_prefix, w.options.key_prefix + std::string(resource));
    const stored* const k = on.database().find(key, on.wall.ms(w.now));
    if (k == nullptr) return out;
    for (const auto& [ticket, member] : std::get<sorted_set>(k->value).all()) {
        const auto colon = member.rfind(':');
        out.push_back({member.substr(0, colon), ticket, std::stoll(member.substr(colon + 1))});
    }
    return out;
}

/// In the queues of all nodes together.
inline std::size_t queued_in_all(world& w, std::string_view resource) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < w.nodes.size(); ++i) n += queue_of(w, i, resource).size();
    return n;
}

/// How often a node was called to run that script.
inline std::size_t calls_of(const world& w, const resp::script& what, std::size_t node) {
    std::size_t n = 0;
    for (const command& c : w.nodes[node].seen) {
        const bool is_called = c.size() > 1 && (c[1] == what.sha1 || c[1] == what.text);
        n += is_called && c[0] != "SCRIPT" ? 1U : 0U;
    }
    return n;
}

/// How many requests of that kind were made of a node.
inline std::size_t calls_of(const world& w, ask what, std::size_t node) {
    std::size_t n = 0;
    for (const command& c : w.nodes[node].seen) {
        const auto asked = testing::requests_of(c);
        if (!asked) continue;
        for (const auto& one : asked->all) n += one.what == what ? 1U : 0U;
    }
    return n;
}

/// What it does is done in that instant, without any latency.
class stranger {
public:
    /// `number`: of its only waiter; a reader's has an r before it.
    explicit stranger(world& w, std::string id = "stranger", std::string number = "1")
        : in_(&w), id_(std::move(id)), waiter_(id_ + ':' + number) {
        heard.resize(w.nodes.size());
        ways_.resize(w.nodes.size());
        for (std::size_t i = 0; i < ways_.size(); ++i) {
            ears_.emplace_back().push = [this, i](const std::string&) { ++heard[i]; };
        }
    }

    std::vector<std::size_t> heard{};  ///< Wake-ups, per node.

    std::size_t nodes_heard() const {
        std::size_t n = 0;
        for (const auto h : heard) n += h != 0 ? 1U : 0U;
        return n;
    }
    void listen() {
        for (std::size_t i = 0; i < ears_.size(); ++i) {
            in_->nodes[i].execute(ears_[i], {"SUBSCRIBE", channel()}, in_->now);
        }
    }
    /// Gives back what `world::take_elsewhere` took.
    void release(std::size_t node, const std::string& resource) {
        ask_for(node, resource, {.what = ask::release, .value = world::elsewhere});
    }
    void release_all(const std::string& resource) {
        for (std::size_t i = 0; i < in_->nodes.size(); ++i) release(i, resource);
    }
    /// Stands in line there, and asks: the answer is the first number of wait.lua's.
    std::int64_t enter(std::size_t node, const std::string& resource, std::uint64_t ticket,
                       duration life = 2s) {
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(life).count();
        const auto said = run(node, resp::wait(), {full(resource), queue(resource)},
                              {"1", waiter_, std::to_string(ticket), std::to_string(ms),
                               "0"});
        return said.items.empty() ? -3 : said.items[0].items.at(0).number;
    }
    void enter_all(const std::string& resource, std::uint64_t ticket, duration life = 2s) {
        for (std::size_t i = 0; i < in_->nodes.size(); ++i) enter(i, resource, ticket, life);
    }
    /// It gives up; also where a message said that the key is free.
    void leave(std::size_t node, const std::string& resource, std::uint64_t ticket) {
        ask_for(node, resource,
                {.what = ask::release,
                 .id = waiter_,
                 .ticket = std::to_string(ticket),
                 .life = "0"});
    }
    /// How many hear what is published for that client.
    std::int64_t audience(std::size_t node, std::string_view client_id) {
        const auto to = in_->options.key_prefix + "redlock:wake:" + std::string(client_id);
        return in_->nodes[node].execute(ways_[node], {"PUBLISH", to, "?"}, in_->now).number;
    }

private:
    std::string full(const std::string& resource) const {
        return in_->options.key_prefix + resource;
    }
    std::string queue(const std::string& resource) const {
        return wire::queue_key(in_->options.key_prefix, full(resource));
    }
    std::string channel() const { return in_->options.key_prefix + "redlock:wake:" + id_; }

    model_reply ask_for(std::size_t node, const std::string& resource, testing::asked one) {
        const std::string& prefix = in_->options.key_prefix;
        one.key = full(resource);
        one.fence_key = wire::fence_key(prefix, one.key);
        one.queue = queue(resource);
        const testing::requests all{.record_key = wire::record_key(prefix), .all = {one}};
        return run(node, resp::requests(), testing::keys_of(all), testing::arguments_of(all));
    }

    model_reply run(std::size_t node, const resp::script& what, const command& keys,
                    const command& args) {
        // Another text, since EVAL makes a script known, which the node may have to have forgotten.
        command c{"EVAL", std::string(what.text) + "-- once more", std::to_string(keys.size())};
        c.insert(c.end(), keys.begin(), keys.end());
        c.insert(c.end(), args.begin(), args.end());
        return in_->nodes[node].execute(ways_[node], c, in_->now);
    }

    world* in_;
    std::string id_;
    std::string waiter_;
    std::deque<client_state> ways_;
    std::deque<client_state> ears_;
};

}  // namespace redlock::fakes

// The node records of a world, and clients that start later with the same servers; knows no rule.
// SPDX-License-Identifier: MIT
#pragma once

#include "component/support/world.hpp"
#include "support/record_words.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::fakes {

/// The words of a record.
namespace word {
inline constexpr std::string_view epoch = "epoch";
inline constexpr std::string_view run_id = "run_id";
inline constexpr std::string_view since = "since";
inline constexpr std::string_view created = "created";
inline constexpr std::string_view ttl_max = "ttl_max";
inline constexpr std::string_view durable = "durable";
inline constexpr std::string_view mark = "mark";
inline constexpr std::string_view replid = "replid";
inline constexpr std::string_view cluster_since = "cluster_since";
inline constexpr std::string_view set = "set";
inline constexpr std::string_view offset = "offset";
inline constexpr std::string_view error = "error";
inline constexpr std::string_view seen = "seen";
inline constexpr std::string_view init = "init";
inline constexpr std::string_view quarantine = "quarantine";
}  // namespace word

/// Empty where the node has none.
inline testing::record_words record_on(const world& w, std::size_t node) {
    const auto all = w.nodes[node].all_keys(w.now);
    const auto at = all.find("redlock:node");
    return at == all.end() ? testing::record_words() : testing::record_words(at->second.value);
}

inline void put_record(world& w, std::size_t node, const testing::record_words& words) {
    w.nodes[node].put("redlock:node", words.text(), time_point::max());
}

/// Whether a command writes to a record what was found of the clock.
inline bool writes_clock(const command& c) {
    return c.size() == 7 && testing::record_words(c[5])[word::seen] == "@now+0";
}
/// Whether it says, too, that the node has forgotten its leases.
inline bool strikes_node(const command& c) {
    return writes_clock(c) && testing::record_words(c[5])[word::since] == "@now+0";
}

/// A client that has not started yet, with the same servers: in a world of its own, whose nodes have
/// copies of the data and the clocks of those in `to`.
inline std::unique_ptr<world> latecomer(const world& to, client_options o) {
    auto w = std::make_unique<world>(std::move(o));
    w->now = to.now;
    for (std::size_t i = 0; i < std::min(to.nodes.size(), w->nodes.size()); ++i) {
        auto words = record_on(to, i);
        // Another server, so that no process of it has the run id of an earlier one in `to`.
        w->nodes[i] = fake_node(std::stoull(to.nodes[i].run_id().substr(0, 12), nullptr, 16));
        w->nodes[i].database() = to.nodes[i].database();
        w->nodes[i].wall = to.nodes[i].wall;
        w->nodes[i].set_durable(to.nodes[i].is_durable());
        w->modes[i] = to.modes[i];
        if (words.empty()) continue;
        if (words[word::run_id] == to.nodes[i].run_id()) words[word::run_id] = w->nodes[i].run_id();
        words[word::replid] = "-";  // the copies have other replication ids
        put_record(*w, i, words);
    }
    return w;
}

/// The same, connected.
inline std::unique_ptr<world> newcomer(const world& to, client_options o) {
    auto w = latecomer(to, std::move(o));
    w->connected();
    return w;
}

inline bool has_vote(world& w, std::size_t node) {
    return !w.engine->parts().tracker.object(node, w.now, w.now);
}

}  // namespace redlock::fakes

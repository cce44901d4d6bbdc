// The node records of a world, and clients that start later with the same servers; knows no rule.
// SPDX-License-Identifier: MIT
#pragma once

#include "component/support/world.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace redlock::fakes {

/// The words of a record, by what they say.
enum word : std::size_t {
    epoch,
    run_id,
    since,
    created,
    ttl_max,
    durable,
    mark,
    replid,
    cluster_since,
    set,
    offset,
    error,
    seen,
    init,
    quarantine
};

/// Empty where the node has none.
inline std::vector<std::string> record_on(const world& w, std::size_t node) {
    const auto all = w.nodes[node].all_keys(w.now);
    const auto at = all.find("redlock:node");
    if (at == all.end()) return {};
    std::istringstream words(at->second.value);
    return {std::istream_iterator<std::string>(words), {}};
}

inline void put_record(world& w, std::size_t node, const std::vector<std::string>& words) {
    std::string text;
    for (const auto& one : words) text += (text.empty() ? "" : " ") + one;
    w.nodes[node].put("redlock:node", text, time_point::max());
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
        if (words[run_id] == to.nodes[i].run_id()) words[run_id] = w->nodes[i].run_id();
        words[replid] = "-";  // the copies have other replication ids
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

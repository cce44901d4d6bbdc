// Several independent servers as the nodes of one client; knows servers and options, no locks.
// SPDX-License-Identifier: MIT
#pragma once

#include "../../support/record_words.hpp"
#include "redis_server.hpp"

#include <redlock/options.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace redlock::testing {

/// N servers, started in parallel. Not thread-safe.
class cluster {
public:
    explicit cluster(std::size_t size, const server_options& each = {})
        : cluster(std::vector<server_options>(size, each)) {}
    explicit cluster(const std::vector<server_options>& all) {
        for (const auto& one : all) servers_.emplace_back(one, redis_server::start::do_not_wait);
        for (auto& server : servers_) server.await_ready();
    }

    std::size_t size() const noexcept { return servers_.size(); }
    redis_server& operator[](std::size_t i) { return servers_.at(i); }

    void kill(std::size_t i) { servers_.at(i).kill(); }
    void stop(std::size_t i) { servers_.at(i).stop(); }
    void cont(std::size_t i) { servers_.at(i).cont(); }
    void restart(std::size_t i, redis_server::data what = redis_server::data::keep) {
        servers_.at(i).restart(what);
    }

    /// A connection of the test's own.
    direct ask(std::size_t i) {
        return servers_.at(i).ask();
    }

    /// On how many of the servers that run and are not stopped a key exists.
    std::size_t holding(const std::string& key) {
        std::size_t found = 0;
        for (auto& server : servers_) {
            if (server.reachable() && server.ask().exists(key)) ++found;
        }
        return found;
    }

    /// How many keys there are on the servers that run and are not stopped, all together, but for
    /// those that stay behind on purpose.
    std::size_t keys() {
        std::size_t found = 0;
        for (auto& server : servers_) {
            if (!server.reachable()) continue;
            for (const auto& key : server.ask().keys()) {
                if (!is_companion(key)) ++found;
            }
        }
        return found;
    }

    /// A fence, a note of revoked values or the node record, with no prefix: they outlive the leases.
    static bool is_companion(const std::string& key) {
        const bool outlives = key.ends_with("}:fence") || key.ends_with("}:revoked");
        return key == "redlock:node" || (key.starts_with('{') && outlives);
    }

    /// Whether a client has declared the cluster new on every server.
    bool is_founded() {
        return all_records([](const record_words& of) { return of["since"] == "0"; });
    }

    /// Whether each record says also when, in cluster time. A durable server that restarts before
    /// that counts as one that lost its leases.
    bool is_founding_dated() {
        return is_founded() && all_records([](const record_words& of) {
            return of["init"] != "0" && of["init"] != "-";
        });
    }

    /// All nodes, named "n0", "n1", …; time-outs wide enough for a machine that stalls. A test
    /// that waits for one to expire sets its own.
    client_options options(bool fencing = true) const {
        client_options all;
        all.fencing = fencing;
        for (const auto& server : servers_) {
            all.nodes.push_back(server.node());
            all.nodes.back().name = "n" + std::to_string(all.nodes.size() - 1);
        }
        all.node_timeout = std::chrono::seconds(3);
        all.connect_timeout = std::chrono::seconds(6);
        all.client_name = "test";
        all.cluster = "test";  // others name the nodes by their addresses
        return all;
    }

    /// The same nodes, and by default the same time-outs, for the command: the path of a
    /// configuration file. A program that was given it before finds it whole at any time.
    std::string config(std::chrono::milliseconds node_timeout = std::chrono::seconds(3)) const {
        const auto path = servers_.at(0).directory() / "redlock.json";
        const auto next = servers_.at(0).directory() / "redlock.json.next";
        std::ofstream file(next);
        file << R"({"node_timeout_ms": )" << node_timeout.count() << R"(, "connect_timeout_ms": )"
             << 2 * node_timeout.count() << R"(, "cluster": "test", "nodes": [)";
        for (std::size_t i = 0; i < servers_.size(); ++i) {
            file << (i == 0 ? "" : ", ") << '"' << servers_[i].uri() << '"';
        }
        file << "]}";
        file.close();
        std::filesystem::rename(next, path);
        return path.string();
    }

private:
    /// Whether `holds` is true of the words of each server's record, of which there may be none.
    template <class Predicate>
    bool all_records(Predicate holds) {
        return std::all_of(servers_.begin(), servers_.end(), [&](const redis_server& server) {
            return holds(record_words(server.ask().get("redlock:node").value_or("")));
        });
    }

    std::vector<redis_server> servers_;
};

}  // namespace redlock::testing

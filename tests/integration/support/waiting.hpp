// Clients that wait for a lock, and what a test sees of them on the nodes; knows no internals.
// SPDX-License-Identifier: MIT
#pragma once

#include "cluster.hpp"
#include "direct.hpp"
#include "run.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace redlock::testing {

inline double to_ms(clock::duration d) {
    return std::chrono::duration<double, std::milli>(d).count();
}

/// For the reader of the test's output: what was measured, and never asserted.
inline void print_ms(const std::string& what, clock::duration took) {
    std::printf("    %s: %.1f ms\n", what.c_str(), to_ms(took));
    std::fflush(stdout);
}

/// For what a machine that stalls spoils now and then, and a defect each time: whether it was good
/// in one of three tries. What no stall may spoil is checked within each.
template <class Try>
bool once_in_three(Try is_good) {
    for (int i = 1; i <= 3; ++i) {
        if (is_good()) return true;
        std::printf("    try %d of 3 was not good\n", i);
    }
    return false;
}

/// A client with a thread in which one acquire waits. Stopped with the object.
class waiting_client {
public:
    explicit waiting_client(client_options options, acquire_options how = {.ttl = 20s, .wait = 60s},
                            std::string resource = "r")
        : client_(std::move(options)),
          thread_([this, how, resource = std::move(resource)](const std::stop_token& stop) {
              auto got = client_.acquire(resource, how, stop);
              when_ = clock::now();
              if (got)
                  lease_ = std::move(*got);
              else
                  refusal_ = got.error();
              done_ = true;
          }) {}

    bool done() const { return done_; }
    /// Waits for the end; whether the lock was granted.
    bool granted() {
        return eventually([this] { return done(); }, 2 * patience) && !refusal_.code;
    }
    void stop() { thread_.request_stop(); }

    // Once it is done.
    clock::time_point when() const { return when_; }
    const refusal& why() const { return refusal_; }
    std::uint64_t fence() const { return lease_.fence(); }
    bool release() { return client_.release(std::move(lease_)).has_value(); }

    blocking_client& client() { return client_; }

private:
    blocking_client client_;
    std::atomic<bool> done_ = false;
    clock::time_point when_{};
    lease lease_;
    refusal refusal_;
    std::jthread thread_;
};

/// The ids of those that wait on one node, first first: "client:number".
inline std::vector<std::string> queue_on(cluster& nodes, std::size_t i,
                                         const std::string& resource = "r") {
    std::vector<std::string> ids;
    for (const auto& entry :
         nodes.ask(i).command({"ZRANGE", "{" + resource + "}:queue", "0", "-1"}).items) {
        ids.push_back(entry.text.substr(0, entry.text.rfind(':')));
    }
    return ids;
}

/// The same of all nodes, a line each, for INFO.
inline std::string queues(cluster& nodes, const std::string& resource = "r") {
    std::string text;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        text += "n" + std::to_string(i) + (nodes[i].reachable() ? ":" : ": out of reach");
        if (nodes[i].reachable()) {
            for (const auto& id : queue_on(nodes, i, resource)) text += " " + id;
        }
        text += "\n";
    }
    return text;
}

/// Whether that many stand in the queue of every node that runs and is not stopped.
inline bool all_know_of(cluster& nodes, std::size_t waiters, const std::string& resource = "r") {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].reachable() && queue_on(nodes, i, resource).size() != waiters) return false;
    }
    return true;
}

/// Whether that many clients listen to every node that runs and is not stopped.
inline bool all_are_heard_by(cluster& nodes, std::size_t clients) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!nodes[i].reachable()) continue;
        const auto found = nodes.ask(i).command({"PUBSUB", "CHANNELS", "redlock:wake:*"});
        if (found.items.size() != clients) return false;
    }
    return true;
}

/// Another program's lock of our form, on every node: beside any other value waiters look again.
inline void lock_by_hand(cluster& nodes, const std::string& resource,
                         std::chrono::milliseconds ttl = 60s) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes.ask(i).set_nx_px(resource, "ABCDEFGHIJKLMNOPQRSTUV@elsewhere", ttl);
    }
}

inline void unlock_by_hand(cluster& nodes, const std::string& resource) {
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes.ask(i).del(resource);
}

}  // namespace redlock::testing

// Runs the asynchronous client of a test in real time, with a limit on everything; knows no server.
// SPDX-License-Identifier: MIT
#pragma once

#include "../../support/driver.hpp"
#include "../../support/record_words.hpp"

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace redlock::testing {

/// Runs what is ready by now; for 50 ms at most where each handler makes the next one ready.
inline void catch_up(asio::io_context& context) {
    const auto limit = std::chrono::steady_clock::now() + 50ms;
    if (context.stopped()) context.restart();
    while (context.poll_one() > 0 && std::chrono::steady_clock::now() < limit) {
    }
}

/// Until a test looks again: each look costs a server and this machine something, and one that comes
/// by so little late costs a test nothing.
inline std::chrono::milliseconds pause_after(std::chrono::steady_clock::duration waited) {
    const auto pause = std::chrono::duration_cast<std::chrono::milliseconds>(waited / 16);
    return std::clamp<std::chrono::milliseconds>(pause, 2ms, 20ms);
}

/// Runs handlers until `done()` or the limit; says whether it was reached. Looks once more then: a
/// stall of this machine may have lasted until after the limit.
template <class Predicate>
bool run_until(asio::io_context& context, Predicate done,
               std::chrono::milliseconds limit = patience) {
    const auto begin = std::chrono::steady_clock::now();
    const auto deadline = begin + limit;
    while (!done()) {
        const auto now = std::chrono::steady_clock::now();
        if (now > deadline) {
            catch_up(context);
            return done();
        }
        if (context.stopped()) context.restart();
        context.run_one_until(std::min(now + pause_after(now - begin), deadline + 1ms));
    }
    return true;
}

/// Runs handlers for as long as the test wants time to pass.
inline void run_for(asio::io_context& context, std::chrono::milliseconds time) {
    run_until(context, [] { return false; }, time);
}

/// For tests whose handlers run in other threads, or nowhere: looks again until true or the limit,
/// and once after it.
template <class Predicate>
bool eventually(Predicate done, std::chrono::milliseconds limit = patience) {
    const auto begin = std::chrono::steady_clock::now();
    while (!done()) {
        const auto waited = std::chrono::steady_clock::now() - begin;
        if (waited > limit) return done();
        std::this_thread::sleep_for(pause_after(waited));
    }
    return true;
}

/// As a program runs its client.
struct real_time {
    template <class Predicate>
    static bool until(asio::io_context& context, Predicate done, std::chrono::milliseconds limit) {
        return run_until(context, done, limit);
    }
    /// Returns as soon as the client has nothing left.
    static void finish(asio::io_context& context) {
        if (context.stopped()) context.restart();
        context.run_for(patience);
    }
};

using driver = basic_driver<real_time>;

/// Has a first client declare the cluster new, as it stands now: only where all nodes answer, and
/// none has a record, does none of them sit out the quarantine of a restarted one.
template <class Cluster>
void found(Cluster& nodes, const client_options& options) {
    driver first(options);
    first.acquire("founding", {.wait = std::chrono::seconds(10)});
    if (!first.until([&] { return nodes.is_founding_dated(); })) {
        throw std::runtime_error("the cluster was not founded");
    }
}

/// With `of` the nodes belong to a set of so many, the others of which are still to come.
template <class Cluster>
void found(Cluster& nodes, std::size_t of = 0) {
    found(nodes, nodes.options());
    for (std::size_t i = 0; of != 0 && i < nodes.size(); ++i) {
        const std::string key = "redlock:node";
        record_words record(nodes.ask(i).get(key).value());
        std::string& set = record["set"];
        set = std::to_string(of) + set.substr(set.find(':'));
        nodes.ask(i).set(key, record.text());
    }
}

}  // namespace redlock::testing

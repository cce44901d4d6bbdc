// Runs the asynchronous client of a test in real time, with a limit on everything; knows no server.
// SPDX-License-Identifier: MIT
#pragma once

#include "../../support/outcome.hpp"
#include "../../support/record_words.hpp"

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <future>
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

/// A client on an io_context that the test's own thread runs, one operation after the other.
class driver {
public:
    using granted = outcome<lease>;

    /// Waits until `nodes` connections stand; by default all, and then until it is known which may
    /// vote: a client that is left alone while it makes a new cluster stands in others' way.
    explicit driver(client_options options, std::optional<std::size_t> nodes = std::nullopt)
        : size_(options.nodes.size()) {
        log_.attach(options);
        client_.emplace(context_.get_executor(), std::move(options));
        await_up(nodes.value_or(size_));
        if (!nodes) inspect("nothing");
    }
    ~driver() {
        client_.reset();
        // What a closed client has left to do; returns as soon as that is nothing.
        if (context_.stopped()) context_.restart();
        context_.run_for(patience);
    }
    driver(const driver&) = delete;
    driver& operator=(const driver&) = delete;

    redlock::client& client() { return *client_; }
    asio::io_context& context() { return context_; }
    const event_log& log() const { return log_; }
    /// Destroys the client; the context stays.
    void destroy_client() { client_.reset(); }

    void await_up(std::size_t nodes) {
        if (!until([&] { return log_.nodes_up() >= nodes; })) {
            throw std::runtime_error("only " + std::to_string(log_.nodes_up()) + " of " +
                                     std::to_string(nodes) + " nodes came up");
        }
    }
    void await_up(const std::string& node) {
        if (!until([&] { return log_.up(node); })) throw std::runtime_error(node + " is down");
    }
    void await_down(const std::string& node) {
        if (!until([&] { return !log_.up(node); })) throw std::runtime_error(node + " is up");
    }

    template <class Predicate>
    bool until(Predicate done, std::chrono::milliseconds limit = patience) {
        return run_until(context_, done, limit);
    }
    /// Handlers run for as long as the test wants time to pass.
    void pass(std::chrono::milliseconds time) {
        run_for(context_, time);
    }
    /// The client goes on while `what`, which blocks, is done.
    template <class F>
    void beside(F&& what) {
        auto done = std::async(std::launch::async, std::forward<F>(what));
        until([&] { return done.wait_for(0s) == std::future_status::ready; });
        done.get();
    }

    granted start_acquire(const std::string& resource, acquire_options options = {}) {
        granted result;
        client_->async_acquire(resource, options, result.handler());
        return result;
    }
    granted acquire(const std::string& resource, acquire_options options = {}) {
        return finish(start_acquire(resource, options));
    }
    error_code extend(const lease& held, std::chrono::milliseconds ttl) {
        outcome<> result;
        client_->async_extend(held, ttl, result.handler());
        return finish(std::move(result)).error();
    }
    error_code downgrade(const lease& held) {
        outcome<> result;
        client_->async_downgrade(held, result.handler());
        return finish(std::move(result)).error();
    }
    outcome<> start_release(lease held) {
        outcome<> result;
        client_->async_release(std::move(held), result.handler());
        return result;
    }
    error_code release(lease held) { return finish(start_release(std::move(held))).error(); }
    outcome<loss> start_lost(const lease& held) {
        outcome<loss> result;
        client_->async_lost(held, result.handler());
        return result;
    }
    outcome<resource_state> inspect(const std::string& resource) {
        outcome<resource_state> result;
        client_->async_inspect(resource, result.handler());
        return finish(std::move(result));
    }

    template <class Outcome>
    Outcome finish(Outcome result) {
        if (!until([&] { return result.done(); })) {
            throw std::runtime_error("an operation did not end in time");
        }
        return result;
    }

private:
    std::size_t size_;
    event_log log_;
    asio::io_context context_;
    std::optional<redlock::client> client_;
};

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

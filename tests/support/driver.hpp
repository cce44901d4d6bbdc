// Runs the asynchronous client inside a test, and notes what it said; knows no server.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/client.hpp>
#include <redlock/event.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace redlock::testing {

namespace asio = boost::asio;

using namespace std::chrono_literals;

/// What a test waits for at most before it fails; never what a good run takes.
inline constexpr std::chrono::milliseconds patience{20'000};

/// Where the outcome of one operation arrives. Copies share it; used by one thread at a time.
template <class... Values>
class outcome {
    struct shared {
        bool done = false;
        error_code error;
        std::tuple<Values...> values;
        clock::time_point when{};
        asio::cancellation_signal signal;
    };

public:
    bool done() const { return shared_->done; }
    error_code error() const { return shared_->error; }
    clock::time_point when() const { return shared_->when; }
    auto& value() const { return std::get<0>(shared_->values); }
    void cancel(asio::cancellation_type type = asio::cancellation_type::terminal) const {
        shared_->signal.emit(type);
    }

    /// The handler to give to the operation: once.
    auto handler() const {
        return asio::bind_cancellation_slot(
            shared_->signal.slot(), [shared = shared_](error_code error, Values... values) {
                if (shared->done) throw std::logic_error("a handler was called twice");
                shared->done = true;
                shared->error = error;
                shared->values = std::tuple<Values...>(std::move(values)...);
                shared->when = clock::now();
            });
    }

private:
    std::shared_ptr<shared> shared_ = std::make_shared<shared>();
};

/// One event, with views turned into values.
struct seen_event {
    event_kind kind{};
    redlock::severity severity{};
    std::string resource, node, detail, text;
    error_code error;
};

/// What a client reported to its observer. Thread-safe.
class event_log {
public:
    /// Adds itself to the options; must outlive the client's handlers.
    void attach(client_options& options) {
        options.on_event = [this](const event& e) { add(e); };
    }
    std::vector<seen_event> all() const {
        const std::lock_guard lock(mutex_);
        return events_;
    }
    std::size_t count(event_kind kind, severity least = severity::debug) const {
        const std::lock_guard lock(mutex_);
        std::size_t found = 0;
        for (const auto& e : events_) found += e.kind == kind && e.severity >= least ? 1 : 0;
        return found;
    }
    /// The nodes whose connection stands, after the last word on each.
    std::size_t nodes_up() const {
        const std::lock_guard lock(mutex_);
        return up_.size();
    }
    bool up(const std::string& node) const {
        const std::lock_guard lock(mutex_);
        return up_.contains(node);
    }

private:
    void add(const event& e) {
        const std::lock_guard lock(mutex_);
        const std::string node(e.node);
        if (e.kind == event_kind::node_up) up_.insert(node);
        if (e.kind == event_kind::node_down) up_.erase(node);
        events_.push_back({e.kind, e.severity, std::string(e.resource), node,
                           std::string(e.detail), format(e), e.error});
    }

    mutable std::mutex mutex_;
    std::vector<seen_event> events_;
    std::set<std::string> up_;
};

/// A client on an io_context that the test's own thread runs, one operation after the other. `Time`
/// passes in `Time::until(context, done, limit)`, which runs handlers until `done()` or the limit,
/// and says whether it was done; `Time::finish(context)` runs what a closed client has left to do.
template <class Time>
class basic_driver {
public:
    using granted = outcome<lease>;

    /// Waits until `nodes` connections stand; by default all, and then until it is known which may
    /// vote: a client that is left alone while it makes a new cluster stands in others' way.
    explicit basic_driver(client_options options, std::optional<std::size_t> nodes = std::nullopt)
        : size_(options.nodes.size()) {
        log_.attach(options);
        client_.emplace(context_.get_executor(), std::move(options));
        await_up(nodes.value_or(size_));
        if (!nodes) inspect("nothing");
    }
    ~basic_driver() {
        client_.reset();
        Time::finish(context_);
    }
    basic_driver(const basic_driver&) = delete;
    basic_driver& operator=(const basic_driver&) = delete;

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
        return Time::until(context_, done, limit);
    }
    /// Handlers run for as long as the test wants time to pass.
    void pass(std::chrono::milliseconds time) {
        Time::until(context_, [] { return false; }, time);
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

/// The votes as lines, for INFO.
inline std::string text_of(const lease& refused) {
    std::string text;
    for (const auto& vote : refused.votes()) text += format(vote) + "\n";
    return text;
}

}  // namespace redlock::testing

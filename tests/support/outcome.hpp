// Where operations of a client arrive in a test, and what it reported; knows no server.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/client.hpp>
#include <redlock/event.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <chrono>
#include <memory>
#include <mutex>
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

/// The votes as lines, for INFO.
inline std::string text_of(const lease& refused) {
    std::string text;
    for (const auto& vote : refused.votes()) text += format(vote) + "\n";
    return text;
}

}  // namespace redlock::testing

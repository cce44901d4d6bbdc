// The blocking client: waits, in the caller's thread, for the asynchronous one; knows no nodes.
// SPDX-License-Identifier: MIT
#include <redlock/blocking_client.hpp>

#include <redlock/client.hpp>
#include <redlock/detail/initiate_limit.hpp>

#include "value/clock.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <pthread.h>
#include <signal.h>

#include <cassert>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>

namespace redlock {

namespace asio = boost::asio;

namespace {

// Where one outcome arrives. It may lie on the waiting thread's stack: an operation of a client
// always completes, and the handler lets go of the lock last of all.
template <class... Values>
class outcome {
public:
    using values = std::tuple<Values...>;

    auto handler() {
        return [this](Values... results) {
            const std::lock_guard lock(mutex_);
            values_.emplace(std::move(results)...);
            arrived_.notify_one();
        };
    }
    values wait() {
        std::unique_lock lock(mutex_);
        arrived_.wait(lock, [this] { return values_.has_value(); });
        return std::move(*values_);
    }

private:
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::optional<values> values_;
};

// A thread that takes no signals: those of the program are for its own threads.
template <class F>
std::thread quiet_thread(F body) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        std::thread made(std::move(body));
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return made;
    } catch (...) {
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
}

}  // namespace

struct blocking_client::worker {
    explicit worker(client_options how)
        : options(std::move(how)),
          async(context.get_executor(), options),
          thread(quiet_thread([this] { context.run(); })) {}

    ~worker() {
        assert(!is_this_thread() && "a blocking_client can't be destroyed from its own callbacks");
        // The context runs out of work when the last releases are answered or given up.
        async.close();
        guard.reset();
        thread.join();
    }

    /// The error that forbids the use of `of`, which is null if the client was moved from.
    static error_code unusable(const std::unique_ptr<worker>& of) noexcept {
        if (!of || !of->born.is_here()) return errc::client_closed;
        if (of->is_this_thread()) return errc::would_deadlock;
        return {};
    }

    bool is_this_thread() const noexcept { return std::this_thread::get_id() == thread.get_id(); }

    /// A fork copies neither the thread nor the state in which it left the mutexes.
    static void end(std::unique_ptr<worker> of) noexcept {
        if (!of || of->born.is_here()) return;
        detail::leave_to_parent(std::shared_ptr<worker>(std::move(of)));
    }

    const detail::birthplace born;
    const client_options options;
    asio::io_context context{1};
    asio::executor_work_guard<asio::io_context::executor_type> guard{context.get_executor()};
    client async;
    std::thread thread;
};

namespace {

// Cancels an operation when a stop is requested, from whatever thread. The signal is touched in the
// worker's thread only, and by the initiation before it can be: `on_stop` is made after that.
class canceller {
public:
    explicit canceller(asio::io_context& where)
        : where_(&where), signal_(std::make_shared<asio::cancellation_signal>()) {}

    asio::cancellation_slot slot() const { return signal_->slot(); }

    void operator()() const noexcept {
        try {
            asio::post(*where_,
                       [signal = signal_] { signal->emit(asio::cancellation_type::terminal); });
        } catch (...) {
            // Out of memory: the operation ends by its own deadline.
        }
    }

private:
    asio::io_context* where_;
    std::shared_ptr<asio::cancellation_signal> signal_;
};

// `start(handler)` initiates an acquire.
template <class F>
result<lease, refusal> acquire_with(asio::io_context& context, const std::stop_token& stop,
                                    F&& start) {
    if (stop.stop_requested()) return refusal{asio::error::operation_aborted, {}};
    outcome<error_code, lease> done;
    const canceller cancel(context);
    start(asio::bind_cancellation_slot(cancel.slot(), done.handler()));
    const std::stop_callback on_stop(stop, cancel);
    auto [ec, got] = done.wait();
    if (ec) return refusal{ec, {got.votes().begin(), got.votes().end()}, got.why()};
    return std::move(got);
}

result<void> as_result(error_code ec) {
    if (ec) return ec;
    return {};
}

}  // namespace

blocking_client::blocking_client(client_options options)
    : worker_(std::make_unique<worker>(std::move(options))) {}

blocking_client::~blocking_client() { worker::end(std::move(worker_)); }

blocking_client::blocking_client(blocking_client&&) noexcept = default;

blocking_client& blocking_client::operator=(blocking_client&& other) noexcept {
    if (this == &other) return *this;
    worker::end(std::move(worker_));
    worker_ = std::move(other.worker_);
    return *this;
}

result<lease, refusal> blocking_client::acquire(std::string resource, acquire_options options,
                                                std::stop_token stop) {
    if (const auto ec = worker::unusable(worker_)) return refusal{ec, {}};
    return acquire_with(worker_->context, stop, [&](auto handler) {
        worker_->async.async_acquire(std::move(resource), options, std::move(handler));
    });
}

result<lease, refusal> blocking_client::acquire_all(resource_list resources,
                                                    acquire_options options,
                                                    std::stop_token stop) {
    if (const auto ec = worker::unusable(worker_)) return refusal{ec, {}};
    return acquire_with(worker_->context, stop, [&](auto handler) {
        worker_->async.async_acquire_all(std::move(resources), options, std::move(handler));
    });
}

result<lease, refusal> blocking_client::adopt(std::string token, acquire_options options,
                                              std::stop_token stop) {
    if (const auto ec = worker::unusable(worker_)) return refusal{ec, {}};
    return acquire_with(worker_->context, stop, [&](auto handler) {
        worker_->async.async_adopt(std::move(token), options, std::move(handler));
    });
}

result<void> blocking_client::extend(const lease& held, std::chrono::milliseconds ttl) {
    if (const auto ec = worker::unusable(worker_)) return ec;
    outcome<error_code> done;
    worker_->async.async_extend(held, ttl, done.handler());
    return as_result(std::get<0>(done.wait()));
}

result<void> blocking_client::downgrade(const lease& held) {
    if (const auto ec = worker::unusable(worker_)) return ec;
    outcome<error_code> done;
    worker_->async.async_downgrade(held, done.handler());
    return as_result(std::get<0>(done.wait()));
}

result<void> blocking_client::release(lease held) {
    if (const auto ec = worker::unusable(worker_)) return ec;
    outcome<error_code> done;
    worker_->async.async_release(std::move(held), done.handler());
    return as_result(std::get<0>(done.wait()));
}

result<resource_state> blocking_client::inspect(std::string resource) {
    if (const auto ec = worker::unusable(worker_)) return ec;
    outcome<error_code, resource_state> done;
    worker_->async.async_inspect(std::move(resource), done.handler());
    auto [ec, state] = done.wait();
    if (ec) return ec;
    return std::move(state);
}

result<resource_state> blocking_client::watch(std::string resource, const resource_state& last,
                                              std::stop_token stop) {
    if (const auto ec = worker::unusable(worker_)) return ec;
    if (stop.stop_requested()) return error_code(asio::error::operation_aborted);
    outcome<error_code, resource_state> done;
    const canceller cancel(worker_->context);
    worker_->async.async_watch(std::move(resource), last,
                               asio::bind_cancellation_slot(cancel.slot(), done.handler()));
    const std::stop_callback on_stop(stop, cancel);
    auto [ec, state] = done.wait();
    if (ec) return ec;
    return std::move(state);
}

result<std::vector<std::string>> blocking_client::list(std::string prefix) {
    if (const auto ec = worker::unusable(worker_)) return ec;
    outcome<error_code, std::vector<std::string>> done;
    worker_->async.async_list(std::move(prefix), done.handler());
    auto [ec, resources] = done.wait();
    if (ec) return ec;
    return std::move(resources);
}

result<revocation, refusal> blocking_client::revoke(const resource_state& shown) {
    if (const auto ec = worker::unusable(worker_)) return refusal{ec, {}};
    outcome<error_code, revocation> done;
    worker_->async.async_revoke(shown, done.handler());
    auto [ec, what] = done.wait();
    if (ec) return refusal{ec, std::move(what.votes)};
    return std::move(what);
}

result<std::vector<node_report>> blocking_client::probe() {
    if (const auto ec = worker::unusable(worker_)) return ec;
    outcome<error_code, std::vector<node_report>> done;
    worker_->async.async_probe(done.handler());
    auto [ec, reports] = done.wait();
    if (ec) return ec;
    return std::move(reports);
}

result<std::vector<node_vote>, refusal> blocking_client::init() {
    if (const auto ec = worker::unusable(worker_)) return refusal{ec, {}};
    outcome<error_code, std::vector<node_vote>> done;
    worker_->async.async_init(done.handler());
    auto [ec, votes] = done.wait();
    if (ec) return refusal{ec, std::move(votes)};
    return std::move(votes);
}

commit_report blocking_client::commit(const commit_options& how, std::stop_token stop) {
    const auto refused = [](error_code why) { return commit_report{.error = why}; };
    if (const auto ec = worker::unusable(worker_)) return refused(ec);
    if (stop.stop_requested()) return refused(asio::error::operation_aborted);
    outcome<error_code, commit_report> done;
    const canceller cancel(worker_->context);
    worker_->async.async_commit(how, asio::bind_cancellation_slot(cancel.slot(), done.handler()));
    const std::stop_callback on_stop(stop, cancel);
    auto [ec, report] = done.wait();
    report.error = ec;
    return std::move(report);
}

result<void> blocking_client::close() {
    if (!worker_) return {};
    if (const auto ec = worker::unusable(worker_)) return ec;
    outcome<error_code> done;
    worker_->async.async_close(done.handler());
    return as_result(std::get<0>(done.wait()));
}

client_stats blocking_client::stats() const {
    return worker_ ? worker_->async.stats() : client_stats{};
}

client_options blocking_client::options() const {
    return worker_ ? worker_->options : client_options{};
}

limit_answer detail::ask_limit(blocking_client& client, const limiter_ptr& of,
                               std::chrono::milliseconds wait, std::stop_token stop) {
    const auto refused = [](error_code why) { return limit_answer{.why = {why, {}}}; };
    const auto& worker = client.worker_;
    if (const auto ec = blocking_client::worker::unusable(worker)) return refused(ec);
    if (stop.stop_requested()) return refused(asio::error::operation_aborted);
    outcome<error_code, limit_answer> done;
    const canceller cancel(worker->context);
    start_limited(worker->async.impl(), of, wait,
                  asio::bind_cancellation_slot(cancel.slot(), done.handler()));
    const std::stop_callback on_stop(stop, cancel);
    return std::get<1>(done.wait());
}

}  // namespace redlock

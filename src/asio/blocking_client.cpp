// The blocking client: waits, in the caller's thread, for the asynchronous one; knows no nodes.
// SPDX-License-Identifier: MIT
#include "asio/blocking_client.hpp"

#include "asio/performers.hpp"
#include "value/clock.hpp"

#include <redlock/client.hpp>
#include <redlock/detail/access.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <cassert>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>

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

// Cancels an operation when a stop is requested, from whatever thread. The signal is touched in the
// worker's thread only, and by the initiation before it can be: callers get it after that.
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

}  // namespace

struct blocking_client::worker {
    explicit worker(client_options how)
        : options(std::move(how)),
          async(context.get_executor(), options),
          thread(detail::quiet_thread([this] { context.run(); })) {}

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

    /// What the operation that `begin(slot, handler)` begins completes with. A stop cancels it.
    template <class... Results, class Begin>
    static std::tuple<error_code, Results...> wait_for(const std::unique_ptr<worker>& of,
                                                       const std::stop_token& stop,
                                                       const Begin& begin) {
        if (const auto ec = unusable(of)) return {ec, Results{}...};
        if (stop.stop_requested()) return {asio::error::operation_aborted, Results{}...};
        outcome<error_code, Results...> done;
        std::optional<canceller> cancel;
        if (stop.stop_possible()) cancel.emplace(of->context);
        begin(cancel ? cancel->slot() : asio::cancellation_slot(), done.handler());
        std::optional<std::stop_callback<canceller>> on_stop;
        if (cancel) on_stop.emplace(stop, *cancel);
        return done.wait();
    }
    /// Begins what `start` does; `done` gets its results in the worker's thread. Returns what
    /// cancels it. The handler keeps the signal.
    template <auto start, class Done, class... Args>
    canceller begin(Done done, Args&&... args) {
        canceller cancel(context);
        const auto slot = cancel.slot();
        detail::initiate<start>{detail::access::impl(async)}(
            asio::bind_cancellation_slot(slot,
                                         [cancel, done = std::move(done)](auto... results) {
                                             done(std::move(results)...);
                                         }),
            std::forward<Args>(args)...);
        return cancel;
    }
    /// What `start` completes with: see detail/initiate.hpp.
    template <auto start, class... Results, class... Args>
    static std::tuple<error_code, Results...> run(const std::unique_ptr<worker>& of,
                                                  const std::stop_token& stop, Args&&... args) {
        return wait_for<Results...>(of, stop, [&](const auto& slot, auto handler) {
            detail::initiate<start>{detail::access::impl(of->async)}(
                asio::bind_cancellation_slot(slot, std::move(handler)),
                std::forward<Args>(args)...);
        });
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

result<void> as_result(std::tuple<error_code> done) {
    if (const auto ec = std::get<0>(done)) return ec;
    return {};
}

template <class T>
result<T> as_result(std::tuple<error_code, T> done) {
    auto& [ec, value] = done;
    if (ec) return ec;
    return std::move(value);
}

result<lease, refusal> as_lease(std::tuple<error_code, lease> done) {
    auto& [ec, got] = done;
    if (ec == errc::would_deadlock) {
        return refusal{ec, {}, "called in the client's own thread, by lost_token() or on_event"};
    }
    if (ec) return refusal{ec, {got.votes().begin(), got.votes().end()}, got.why()};
    return std::move(got);
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
    return as_lease(worker::run<&detail::start_acquire, lease>(
        worker_, stop, std::move(resource), options));
}

result<lease, refusal> blocking_client::acquire_all(resource_list resources,
                                                    acquire_options options,
                                                    std::stop_token stop) {
    return as_lease(worker::run<&detail::start_acquire_all, lease>(
        worker_, stop, std::move(resources), options));
}

result<lease, refusal> blocking_client::adopt(std::string token, acquire_options options,
                                              std::stop_token stop) {
    return as_lease(worker::run<&detail::start_adopt, lease>(worker_, stop, std::move(token),
                                                              options));
}

result<void> blocking_client::extend(const lease& held, std::chrono::milliseconds ttl) {
    return as_result(
        worker::run<&detail::start_extend>(worker_, {}, detail::access::state(held), ttl));
}

result<void> blocking_client::downgrade(const lease& held) {
    return as_result(
        worker::run<&detail::start_downgrade>(worker_, {}, detail::access::state(held)));
}

result<void> blocking_client::release(lease held) {
    return as_result(worker::run<&detail::start_release>(worker_, {}, std::move(held)));
}

result<resource_state> blocking_client::inspect(std::string resource) {
    return as_result(worker::run<&detail::start_inspect, resource_state>(worker_, {},
                                                                         std::move(resource)));
}

result<resource_state> blocking_client::watch(std::string resource, const resource_state& last,
                                              std::stop_token stop) {
    return as_result(worker::run<&detail::start_watch, resource_state>(
        worker_, stop, std::move(resource), last));
}

result<std::vector<std::string>> blocking_client::list(list_query what) {
    return as_result(worker::run<&detail::start_list, std::vector<std::string>>(
        worker_, {}, std::move(what)));
}

result<std::vector<run_record>> blocking_client::last_runs(std::string resource) {
    return as_result(worker::run<&detail::start_last_runs, std::vector<run_record>>(
        worker_, {}, std::move(resource)));
}

result<std::vector<run_record>> blocking_client::record_run(std::string resource,
                                                            const run_record& run,
                                                            std::chrono::milliseconds keep) {
    return as_result(worker::run<&detail::start_record_run, std::vector<run_record>>(
        worker_, {}, std::move(resource), run, keep));
}

result<revocation, refusal> blocking_client::revoke(const resource_state& shown) {
    auto [ec, done] = worker::run<&detail::start_revoke, revocation>(worker_, {}, shown);
    if (ec) return refusal{ec, std::move(done.votes)};
    return std::move(done);
}

result<std::vector<node_report>> blocking_client::probe() {
    return as_result(
        worker::run<&detail::start_probe, std::vector<node_report>>(worker_, {}));
}

result<std::vector<node_vote>, refusal> blocking_client::init(const init_options& how) {
    auto [ec, votes] = worker::run<&detail::start_init, std::vector<node_vote>>(worker_, {}, how);
    if (ec) return refusal{ec, std::move(votes)};
    return std::move(votes);
}

commit_report blocking_client::commit(const commit_options& how, std::stop_token stop) {
    auto [ec, report] = worker::run<&detail::start_commit, commit_report>(worker_, stop, how);
    report.error = ec;
    return std::move(report);
}

result<void> blocking_client::close() {
    if (!worker_) return {};
    return as_result(worker::run<&detail::start_close>(worker_, {}));
}

client_stats blocking_client::stats() const {
    return worker_ ? worker_->async.stats() : client_stats{};
}

client_options blocking_client::options() const {
    return worker_ ? worker_->options : client_options{};
}

detail::impl_ptr detail::blocking_access::impl(const blocking_client& of) noexcept {
    return of.worker_ ? access::impl(of.worker_->async) : nullptr;
}

error_code detail::blocking_access::run(blocking_client& of, const std::stop_token& stop,
                                        const starter& start) {
    return std::get<0>(blocking_client::worker::wait_for<>(of.worker_, stop, start));
}

std::function<void()> detail::blocking_access::begin(blocking_client& of, resource_list resources,
                                                     const acquire_options& options,
                                                     lease_outcome done) {
    if (!of.worker_ || !of.worker_->born.is_here()) {
        done(errc::client_closed, lease());
        return {};
    }
    if (resources.names().size() == 1) {
        return of.worker_->begin<&start_acquire>(
            std::move(done), std::move(resources).names().front(), options);
    }
    return of.worker_->begin<&start_acquire_all>(std::move(done), std::move(resources),
                                                 options);
}

std::function<void()> detail::begin_acquire(blocking_client& client, resource_list resources,
                                            const acquire_options& options, lease_outcome done) {
    return blocking_access::begin(client, std::move(resources), options, std::move(done));
}

}  // namespace redlock

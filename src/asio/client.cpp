// The public client: checks what it is given and launches operations.
// SPDX-License-Identifier: MIT
#include <redlock/client.hpp>

#include "asio/client.hpp"
#include "client/acquire.hpp"
#include "client/adopt.hpp"
#include "client/commit.hpp"
#include "client/extend.hpp"
#include "client/inspect.hpp"
#include "client/operator.hpp"
#include "client/release.hpp"
#include "client/watch.hpp"

#include <redlock/detail/access.hpp>

#include <boost/asio/system_executor.hpp>

#include <stdexcept>

namespace redlock {

namespace detail {

namespace {

/// Hands the results of the operation to its handler as they are.
template <class Base, class... Results>
class completing : public asio_operation<Base, error_code, Results...> {
    using asio_operation<Base, error_code, Results...>::asio_operation;
    void complete(error_code outcome, Results... results) override {
        this->finish(outcome, std::move(results)...);
    }
};

/// An acquire or an adoption, whose result becomes a lease.
template <class Base>
class leasing final : public asio_operation<Base, error_code, lease> {
    using asio_operation<Base, error_code, lease>::asio_operation;
    void complete(error_code outcome, std::shared_ptr<lease_state> state) override {
        this->finish(outcome, access::lease_of(std::move(state)));
    }
};

/// The report has the outcome, too.
class committing final : public completing<commit_operation, commit_report> {
    using completing::completing;
    void complete(error_code outcome, commit_report report) override {
        report.error = outcome;
        finish(outcome, std::move(report));
    }
};

template <class Operation, class... Results, class... Args>
void start(const impl_ptr& impl,
           asio::any_completion_handler<void(error_code, Results...)> handler, Args&&... args) {
    if (is_out_of_reach(impl)) return std::move(handler)(errc::client_closed, Results{}...);
    launch<Operation>(impl, std::move(handler), std::forward<Args>(args)...);
}

}  // namespace

asio::any_io_executor executor_of(const impl_ptr& impl, asio_build) noexcept {
    if (!impl || impl->has_lost_context()) return asio::system_executor();
    return impl->executor();
}

void start_acquire(const impl_ptr& impl, std::string resource, const acquire_options& options,
                   acquire_handler handler) {
    start<leasing<acquire_operation>>(impl, std::move(handler), std::move(resource), options);
}

void start_acquire_all(const impl_ptr& impl, resource_list resources,
                       const acquire_options& options, acquire_handler handler) {
    start<leasing<acquire_operation>>(impl, std::move(handler), std::move(resources), options);
}

void start_adopt(const impl_ptr& impl, std::string token, const acquire_options& options,
                 acquire_handler handler) {
    start<leasing<adopt_operation>>(impl, std::move(handler), std::move(token), options);
}

void start_extend(const impl_ptr& impl, state_ptr state, std::chrono::milliseconds ttl,
                  plain_handler handler) {
    start<completing<extend_operation>>(impl, std::move(handler), std::move(state), ttl);
}

void start_downgrade(const impl_ptr& impl, state_ptr state, plain_handler handler) {
    start<completing<downgrade_operation>>(impl, std::move(handler), std::move(state));
}

void start_release(const impl_ptr& impl, lease held, plain_handler handler) {
    if (is_out_of_reach(impl)) return std::move(handler)(errc::client_closed);
    // Another client's lease is refused, and released by its own client as `held` goes.
    state_ptr state;
    const state_ptr& about = access::state(held);
    if (about && about->home.lock() == impl) state = access::surrender(std::move(held));
    try {
        launch<completing<release_operation>>(impl, std::move(handler), state);
    } catch (...) {
        // For want of memory. The message that gives it back is part of the lease.
        if (state) impl->send_farewell(std::move(state), farewell::kind::give_back);
        throw;
    }
}

void start_lost(const impl_ptr& impl, state_ptr state, lost_handler handler) {
    start<completing<lost_operation, loss>>(impl, std::move(handler), std::move(state));
}

void start_init(const impl_ptr& impl, const init_options& how, votes_handler handler) {
    start<completing<declare_operation, std::vector<node_vote>>>(impl, std::move(handler), how);
}

void start_commit(const impl_ptr& impl, const commit_options& how, commit_handler handler) {
    start<committing>(impl, std::move(handler), how);
}

void start_inspect(const impl_ptr& impl, std::string resource, inspect_handler handler) {
    start<completing<inspect_operation, resource_state>>(impl, std::move(handler),
                                                         std::move(resource));
}

void start_watch(const impl_ptr& impl, std::string resource, resource_state last,
                 inspect_handler handler) {
    start<completing<watch_operation, resource_state>>(impl, std::move(handler),
                                                       std::move(resource), std::move(last));
}

void start_list(const impl_ptr& impl, list_query what, list_handler handler) {
    start<completing<list_operation, std::vector<std::string>>>(impl, std::move(handler),
                                                                std::move(what));
}

void start_last_runs(const impl_ptr& impl, std::string resource, runs_handler handler) {
    start<completing<runs_operation, std::vector<run_record>>>(
        impl, std::move(handler), std::move(resource), std::nullopt, std::chrono::milliseconds(0));
}

void start_record_run(const impl_ptr& impl, std::string resource, const run_record& run,
                      std::chrono::milliseconds keep, runs_handler handler) {
    start<completing<runs_operation, std::vector<run_record>>>(impl, std::move(handler),
                                                               std::move(resource), run, keep);
}

void start_revoke(const impl_ptr& impl, resource_state shown, revoke_handler handler) {
    start<completing<revoke_operation, revocation>>(impl, std::move(handler), std::move(shown));
}

void start_probe(const impl_ptr& impl, probe_handler handler) {
    start<completing<probe_operation, std::vector<node_report>>>(impl, std::move(handler));
}

void start_close(const impl_ptr& impl, plain_handler handler) {
    if (!impl) return std::move(handler)(error_code());  // there is nothing to close
    start<completing<close_operation>>(impl, std::move(handler));
}

}  // namespace detail

namespace {

client_options checked(client_options options) {
    std::string wrong;
    for (const auto& issue : validate(options)) {
        if (issue.severity != config_issue::level::error) continue;
        wrong += (wrong.empty() ? "redlock::client_options: " : "; ") + issue.where + ": " +
                 issue.message;
    }
    if (!wrong.empty()) throw std::invalid_argument(wrong);
    return options;
}

const client::executor_type& usable(const client::executor_type& executor) {
    if (!executor) throw std::invalid_argument("redlock::client: the executor is empty");
    return executor;
}

void end(detail::impl_ptr of) noexcept {
    if (of) of->close();
    if (of && of->is_inherited()) detail::leave_to_parent(std::move(of));
}

}  // namespace

client::client(detail::asio_build, const executor_type& executor, client_options options)
    : impl_(detail::client_impl::make(usable(executor), checked(std::move(options)))) {}

client::~client() { end(std::move(impl_)); }

client::client(client&& other) noexcept = default;

client& client::operator=(client&& other) noexcept {
    if (this != &other) {
        end(std::move(impl_));
        impl_ = std::move(other.impl_);
    }
    return *this;
}

void client::close() noexcept {
    if (impl_) impl_->close();
}

void client::cancel() {
    if (impl_) impl_->cancel();
}

client::executor_type client::get_executor() const noexcept {
    return impl_ ? impl_->executor() : executor_type();
}

client_stats client::stats() const { return impl_ ? impl_->stats() : client_stats{}; }

}  // namespace redlock

// The public client: checks what it is given and launches operations.
// SPDX-License-Identifier: MIT
#include <redlock/client.hpp>

#include "asio/client.hpp"
#include "asio/client_impl.hpp"
#include "client/acquire.hpp"
#include "client/adopt.hpp"
#include "client/commit.hpp"
#include "client/extend.hpp"
#include "client/inspect.hpp"
#include "client/operator.hpp"
#include "client/release.hpp"
#include "client/watch.hpp"

#include <boost/asio/system_executor.hpp>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace redlock {

namespace detail {

namespace {

class asio_acquire final : public asio_operation<acquire_operation, error_code, lease> {
public:
    template <class Resources>
    asio_acquire(std::shared_ptr<client_impl> client, acquire_handler h, acquire_flavour flavour,
                 Resources&& what, const acquire_options& options)
        : asio_operation(std::move(client), std::move(h), std::forward<Resources>(what), options),
          flavour_(flavour) {}

private:
    void complete(error_code outcome, std::shared_ptr<lease_state> state) override {
        if (flavour_ == acquire_flavour::contention_is_a_value && outcome == errc::contended) {
            outcome.clear();
        }
        finish(outcome, lease(std::move(state)));
    }

    acquire_flavour flavour_;
};

class asio_adopt final : public asio_operation<adopt_operation, error_code, lease> {
    using asio_operation::asio_operation;
    void complete(error_code outcome, std::shared_ptr<lease_state> state) override {
        finish(outcome, lease(std::move(state)));
    }
};

class asio_extend final : public asio_operation<extend_operation, error_code> {
    using asio_operation::asio_operation;
    void complete(error_code outcome) override { finish(outcome); }
};

class asio_downgrade final : public asio_operation<downgrade_operation, error_code> {
    using asio_operation::asio_operation;
    void complete(error_code outcome) override { finish(outcome); }
};

class asio_release final : public asio_operation<release_operation, error_code> {
    using asio_operation::asio_operation;
    void complete(error_code outcome) override { finish(outcome); }
};

class asio_lost final : public asio_operation<lost_operation, error_code, loss> {
    using asio_operation::asio_operation;
    void complete(error_code outcome, loss why) override { finish(outcome, why); }
};

class asio_declare final
    : public asio_operation<declare_operation, error_code, std::vector<node_vote>> {
    using asio_operation::asio_operation;
    void complete(error_code outcome, std::vector<node_vote> answers) override {
        finish(outcome, std::move(answers));
    }
};

class asio_commit final : public asio_operation<commit_operation, error_code, commit_report> {
    using asio_operation::asio_operation;
    void complete(error_code outcome, commit_report report) override {
        report.error = outcome;
        finish(outcome, std::move(report));
    }
};

class asio_inspect final : public asio_operation<inspect_operation, error_code, resource_state> {
    using asio_operation::asio_operation;
    void complete(error_code outcome, resource_state state) override {
        finish(outcome, std::move(state));
    }
};

class asio_watch final : public asio_operation<watch_operation, error_code, resource_state> {
    using asio_operation::asio_operation;
    void complete(error_code outcome, resource_state state) override {
        finish(outcome, std::move(state));
    }
};

class asio_list final
    : public asio_operation<list_operation, error_code, std::vector<std::string>> {
    using asio_operation::asio_operation;
    void complete(error_code outcome, std::vector<std::string> resources) override {
        finish(outcome, std::move(resources));
    }
};

class asio_revoke final : public asio_operation<revoke_operation, error_code, revocation> {
    using asio_operation::asio_operation;
    void complete(error_code outcome, revocation done) override { finish(outcome, std::move(done)); }
};

class asio_probe final
    : public asio_operation<probe_operation, error_code, std::vector<node_report>> {
    using asio_operation::asio_operation;
    void complete(error_code outcome, std::vector<node_report> reports) override {
        finish(outcome, std::move(reports));
    }
};

class asio_close final : public asio_operation<close_operation, error_code> {
    using asio_operation::asio_operation;
    void complete(error_code outcome) override { finish(outcome); }
};

}  // namespace

asio::any_io_executor executor_of(const impl_ptr& impl) noexcept {
    if (!impl || impl->has_lost_context()) return asio::system_executor();
    return impl->executor();
}

void start_acquire(const impl_ptr& impl, acquire_flavour flavour, std::string resource,
                   const acquire_options& options, acquire_handler handler) {
    if (is_out_of_reach(impl)) return std::move(handler)(errc::client_closed, lease());
    launch<asio_acquire>(impl, std::move(handler), flavour, std::move(resource), options);
}

void start_acquire_all(const impl_ptr& impl, resource_list resources,
                       const acquire_options& options, acquire_handler handler) {
    if (is_out_of_reach(impl)) return std::move(handler)(errc::client_closed, lease());
    launch<asio_acquire>(impl, std::move(handler), acquire_flavour::contention_is_an_error,
                         std::move(resources), options);
}

void start_adopt(const impl_ptr& impl, std::string token, const acquire_options& options,
                 acquire_handler handler) {
    if (is_out_of_reach(impl)) return std::move(handler)(errc::client_closed, lease());
    launch<asio_adopt>(impl, std::move(handler), std::move(token), options);
}

void start_extend(const impl_ptr& impl, state_ptr state, std::chrono::milliseconds ttl,
                  plain_handler handler) {
    if (is_out_of_reach(impl)) return std::move(handler)(errc::client_closed);
    launch<asio_extend>(impl, std::move(handler), std::move(state), ttl);
}

void start_downgrade(const impl_ptr& impl, state_ptr state, plain_handler handler) {
    if (is_out_of_reach(impl)) return std::move(handler)(errc::client_closed);
    launch<asio_downgrade>(impl, std::move(handler), std::move(state));
}

void start_release(const impl_ptr& impl, lease held, plain_handler handler) {
    if (is_out_of_reach(impl)) return std::move(handler)(errc::client_closed);
    // Another client's lease is refused, and released by its own client as `held` goes.
    state_ptr state;
    if (held.state() && held.state()->home.lock() == impl) state = std::move(held).surrender();
    try {
        launch<asio_release>(impl, std::move(handler), state);
    } catch (...) {
        // For want of memory. The message that gives it back is part of the lease.
        if (state) impl->send_farewell(std::move(state), farewell::kind::give_back);
        throw;
    }
}

void start_lost(const impl_ptr& impl, state_ptr state, lost_handler handler) {
    if (is_out_of_reach(impl)) return std::move(handler)(errc::client_closed, loss{});
    launch<asio_lost>(impl, std::move(handler), std::move(state));
}

void start_init(const impl_ptr& impl, votes_handler handler) {
    if (is_out_of_reach(impl)) {
        return std::move(handler)(errc::client_closed, std::vector<node_vote>());
    }
    launch<asio_declare>(impl, std::move(handler));
}

void start_commit(const impl_ptr& impl, const commit_options& how, commit_handler handler) {
    if (is_out_of_reach(impl)) return std::move(handler)(errc::client_closed, commit_report());
    launch<asio_commit>(impl, std::move(handler), how);
}

void start_inspect(const impl_ptr& impl, std::string resource, inspect_handler handler) {
    if (is_out_of_reach(impl)) return std::move(handler)(errc::client_closed, resource_state{});
    launch<asio_inspect>(impl, std::move(handler), std::move(resource));
}

void start_watch(const impl_ptr& impl, std::string resource, resource_state last,
                 inspect_handler handler) {
    if (is_out_of_reach(impl)) return std::move(handler)(errc::client_closed, resource_state{});
    launch<asio_watch>(impl, std::move(handler), std::move(resource), std::move(last));
}

void start_list(const impl_ptr& impl, std::string prefix, list_handler handler) {
    if (is_out_of_reach(impl)) {
        return std::move(handler)(errc::client_closed, std::vector<std::string>());
    }
    launch<asio_list>(impl, std::move(handler), std::move(prefix));
}

void start_revoke(const impl_ptr& impl, resource_state shown, revoke_handler handler) {
    if (is_out_of_reach(impl)) return std::move(handler)(errc::client_closed, revocation());
    launch<asio_revoke>(impl, std::move(handler), std::move(shown));
}

void start_probe(const impl_ptr& impl, probe_handler handler) {
    if (is_out_of_reach(impl)) {
        return std::move(handler)(errc::client_closed, std::vector<node_report>());
    }
    launch<asio_probe>(impl, std::move(handler));
}

void start_close(const impl_ptr& impl, plain_handler handler) {
    if (!impl) return std::move(handler)(error_code());  // there is nothing to close
    if (is_out_of_reach(impl)) return std::move(handler)(errc::client_closed);
    launch<asio_close>(impl, std::move(handler));
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

void end(detail::impl_ptr of) noexcept {
    if (of) of->close();
    if (of && of->is_inherited()) detail::leave_to_parent(std::move(of));
}

}  // namespace

client::client(boost::asio::any_io_executor executor, client_options options)
    : impl_(detail::client_impl::make(executor, checked(std::move(options)))) {}

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

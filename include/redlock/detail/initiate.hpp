// The seam between the templates of the client and the compiled library: handlers lose their type.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/detail/homing_handler.hpp>
#include <redlock/error.hpp>
#include <redlock/export.hpp>
#include <redlock/lease.hpp>
#include <redlock/loss.hpp>
#include <redlock/options.hpp>
#include <redlock/resource_state.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace redlock {

namespace asio = boost::asio;

namespace detail {

class client_impl;
using impl_ptr = std::shared_ptr<client_impl>;
using state_ptr = std::shared_ptr<lease_state>;

enum class acquire_flavour : bool { contention_is_an_error, contention_is_a_value };

using acquire_handler = asio::any_completion_handler<void(error_code, lease)>;
using plain_handler = asio::any_completion_handler<void(error_code)>;
using lost_handler = asio::any_completion_handler<void(error_code, loss)>;
using votes_handler = asio::any_completion_handler<void(error_code, std::vector<node_vote>)>;
using inspect_handler = asio::any_completion_handler<void(error_code, resource_state)>;

// The handlers may be called from any thread, and post themselves to where they belong. A client
// that was moved from passes a null `impl`: the operation completes with client_closed.
REDLOCK_EXPORT const asio::any_io_executor& executor_of(const impl_ptr& impl) noexcept;
REDLOCK_EXPORT void start_acquire(const impl_ptr& impl, acquire_flavour flavour,
                                  std::string resource, const acquire_options& options,
                                  acquire_handler handler);
REDLOCK_EXPORT void start_extend(const impl_ptr& impl, state_ptr state,
                                 std::chrono::milliseconds ttl, plain_handler handler);
REDLOCK_EXPORT void start_release(const impl_ptr& impl, lease held, plain_handler handler);
REDLOCK_EXPORT void start_lost(const impl_ptr& impl, state_ptr state, lost_handler handler);
REDLOCK_EXPORT void start_init(const impl_ptr& impl, votes_handler handler);
REDLOCK_EXPORT void start_inspect(const impl_ptr& impl, std::string resource,
                                  inspect_handler handler);
REDLOCK_EXPORT void start_close(const impl_ptr& impl, plain_handler handler);

// Classes with constructors, not lambdas: g++ 12 destroys capturing temporaries of a co_await
// expression twice.
class initiate {
public:
    explicit initiate(impl_ptr impl) noexcept : impl_(std::move(impl)) {}

protected:
    template <class Handler>
    auto homing(Handler&& handler) const {
        return homing_handler<std::decay_t<Handler>>(std::forward<Handler>(handler),
                                                     executor_of(impl_));
    }

    impl_ptr impl_;
};

class initiate_acquire : initiate {
public:
    initiate_acquire(impl_ptr impl, acquire_flavour flavour) noexcept
        : initiate(std::move(impl)), flavour_(flavour) {}
    template <class Handler>
    void operator()(Handler&& handler, std::string resource, acquire_options options) const {
        start_acquire(impl_, flavour_, std::move(resource), options,
                      homing(std::forward<Handler>(handler)));
    }

private:
    acquire_flavour flavour_;
};

class initiate_extend : initiate {
public:
    using initiate::initiate;
    template <class Handler>
    void operator()(Handler&& handler, state_ptr state, std::chrono::milliseconds ttl) const {
        start_extend(impl_, std::move(state), ttl, homing(std::forward<Handler>(handler)));
    }
};

class initiate_release : initiate {
public:
    using initiate::initiate;
    template <class Handler>
    void operator()(Handler&& handler, lease held) const {
        start_release(impl_, std::move(held), homing(std::forward<Handler>(handler)));
    }
};

class initiate_lost : initiate {
public:
    using initiate::initiate;
    template <class Handler>
    void operator()(Handler&& handler, state_ptr state) const {
        start_lost(impl_, std::move(state), homing(std::forward<Handler>(handler)));
    }
};

class initiate_init : initiate {
public:
    using initiate::initiate;
    template <class Handler>
    void operator()(Handler&& handler) const {
        start_init(impl_, homing(std::forward<Handler>(handler)));
    }
};

class initiate_inspect : initiate {
public:
    using initiate::initiate;
    template <class Handler>
    void operator()(Handler&& handler, std::string resource) const {
        start_inspect(impl_, std::move(resource), homing(std::forward<Handler>(handler)));
    }
};

class initiate_close : initiate {
public:
    using initiate::initiate;
    template <class Handler>
    void operator()(Handler&& handler) const {
        start_close(impl_, homing(std::forward<Handler>(handler)));
    }
};

}  // namespace detail
}  // namespace redlock

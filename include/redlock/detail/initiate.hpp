// The boundary between the templates of the client and the compiled library, which type-erases
// handlers.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/detail/asio_build.hpp>
#include <redlock/detail/homing_handler.hpp>
#include <redlock/error.hpp>
#include <redlock/export.hpp>
#include <redlock/lease.hpp>
#include <redlock/loss.hpp>
#include <redlock/node_report.hpp>
#include <redlock/options.hpp>
#include <redlock/resource_list.hpp>
#include <redlock/run_record.hpp>
#include <redlock/resource_state.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace redlock::detail {

namespace asio = boost::asio;  // not in redlock: it would clash with standalone Asio's `asio`

template <class T, class Signature>
concept token_for = asio::completion_token_for<T, Signature>;
using default_token = asio::deferred_t;
using section_token = asio::use_awaitable_t<>;

class client_impl;
using impl_ptr = std::shared_ptr<client_impl>;
using state_ptr = std::shared_ptr<lease_state>;

using acquire_handler = asio::any_completion_handler<void(error_code, lease)>;
using plain_handler = asio::any_completion_handler<void(error_code)>;
using lost_handler = asio::any_completion_handler<void(error_code, loss)>;
using votes_handler = asio::any_completion_handler<void(error_code, std::vector<node_vote>)>;
using inspect_handler = asio::any_completion_handler<void(error_code, resource_state)>;
using list_handler = asio::any_completion_handler<void(error_code, std::vector<std::string>)>;
using runs_handler = asio::any_completion_handler<void(error_code, std::vector<run_record>)>;
using revoke_handler = asio::any_completion_handler<void(error_code, revocation)>;
using commit_handler = asio::any_completion_handler<void(error_code, commit_report)>;
using probe_handler = asio::any_completion_handler<void(error_code, std::vector<node_report>)>;

// Any thread may call the handlers; each posts itself to its executor. If the client was moved
// from (`impl` is null) or its execution context was destroyed, operations complete with
// client_closed, and `executor_of` returns Asio's system executor.
REDLOCK_EXPORT asio::any_io_executor executor_of(const impl_ptr& impl, asio_build = {}) noexcept;
REDLOCK_EXPORT void start_acquire(const impl_ptr& impl, std::string resource,
                                  const acquire_options& options, acquire_handler handler);
REDLOCK_EXPORT void start_acquire_all(const impl_ptr& impl, resource_list resources,
                                      const acquire_options& options, acquire_handler handler);
REDLOCK_EXPORT void start_adopt(const impl_ptr& impl, std::string token,
                                const acquire_options& options, acquire_handler handler);
REDLOCK_EXPORT void start_extend(const impl_ptr& impl, state_ptr state,
                                 std::chrono::milliseconds ttl, plain_handler handler);
REDLOCK_EXPORT void start_downgrade(const impl_ptr& impl, state_ptr state, plain_handler handler);
REDLOCK_EXPORT void start_release(const impl_ptr& impl, lease held, plain_handler handler);
REDLOCK_EXPORT void start_lost(const impl_ptr& impl, state_ptr state, lost_handler handler);
REDLOCK_EXPORT void start_init(const impl_ptr& impl, const init_options& how,
                               votes_handler handler);
REDLOCK_EXPORT void start_inspect(const impl_ptr& impl, std::string resource,
                                  inspect_handler handler);
REDLOCK_EXPORT void start_watch(const impl_ptr& impl, std::string resource, resource_state last,
                                inspect_handler handler);
REDLOCK_EXPORT void start_list(const impl_ptr& impl, list_query what, list_handler handler);
REDLOCK_EXPORT void start_last_runs(const impl_ptr& impl, std::string resource,
                                    runs_handler handler);
REDLOCK_EXPORT void start_record_run(const impl_ptr& impl, std::string resource,
                                     const run_record& run, std::chrono::milliseconds keep,
                                     runs_handler handler);
REDLOCK_EXPORT void start_revoke(const impl_ptr& impl, resource_state shown,
                                 revoke_handler handler);
REDLOCK_EXPORT void start_commit(const impl_ptr& impl, const commit_options& how,
                                 commit_handler handler);
REDLOCK_EXPORT void start_probe(const impl_ptr& impl, probe_handler handler);
REDLOCK_EXPORT void start_close(const impl_ptr& impl, plain_handler handler);

/// What a completion token finds in an initiation. `Of` is a pointer to what the operation is of: a
/// client or an election.
template <class Of = impl_ptr>
class initiation {
public:
    // Completion tokens that need a timer, such as `cancel_after` of Boost 1.86, use these.
    using executor_type = asio::any_io_executor;
    executor_type get_executor() const noexcept { return executor_of(of_); }

    explicit initiation(Of of) noexcept : of_(std::move(of)) {}

protected:
    Of of_;
};

/// Calls `start(of, arguments..., handler)`. A class with a constructor, not a lambda: g++ 12
/// destroys capturing temporaries of a co_await expression twice.
template <auto start, class Of = impl_ptr>
class initiate : public initiation<Of> {
public:
    using initiation<Of>::initiation;
    template <class Handler, class... Args>
    void operator()(Handler&& handler, Args&&... args) const {
        start(this->of_, std::forward<Args>(args)...,
              homing_handler<std::decay_t<Handler>>(std::forward<Handler>(handler),
                                                    this->get_executor()));
    }
};

}  // namespace redlock::detail

// The semaphore over the nodes, for programs with an event loop: at most so many at once; names no
// socket and no script.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/client.hpp>
#include <redlock/detail/initiate.hpp>
#include <redlock/detail/kept_options.hpp>
#include <redlock/detail/slot_terms.hpp>
#include <redlock/detail/waiting_time.hpp>
#include <redlock/lease.hpp>
#include <redlock/options.hpp>

#include <boost/asio/async_result.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace redlock {

/// At most so many at once, of all programs that name the resource. Each acquisition completes with
/// a `lease` of one of `slots` slots, which is the permit, and belongs to no thread.
/// `lease::slot()` tells which it is, `lease::lost_token()` and `client::async_lost` report its
/// loss, and its destructor gives it back. A `counting_semaphore` of the same resource has the same slots.
///
/// The fences of two slots say nothing of each other: what a fence protects has to belong to one
/// slot.
///
/// Completion, cancellation, fork and thread safety of the `async_` functions are those of
/// `client`.
///
/// **Leaves behind.** Nothing: leases and operations go on without the semaphore.
/// **Thread safety.** Any thread may call any member, except the destructor.
class async_semaphore {
public:
    /// Sends nothing. `slots` is 1 to `max_slots`; where programs name different numbers the
    /// smallest counts. `options.wait` limits `async_acquire`; 0: a year. `options.mode` and
    /// `options.slots` are not used. `options.owner` may identify one lease at a time: leave it
    /// zero.
    ///
    /// The semaphore uses the connections of `over`, also after that client is moved. Once they are
    /// closed, each operation completes with `errc::client_closed`; so the client may be destroyed
    /// before the semaphore.
    ///
    /// **Errors.** Throws `std::invalid_argument` where `slots` is out of its range.
    async_semaphore(client& over, std::string resource, std::uint16_t slots,
                    acquire_options options = {})
        : impl_(over.impl()),
          resource_(std::move(resource)),
          options_(detail::slot_terms(options, slots, "async_semaphore")) {}
    async_semaphore(const async_semaphore&) = delete;
    async_semaphore& operator=(const async_semaphore&) = delete;

    /// Waits for a slot. The waiters of all programs are served first come, first served. A
    /// caller that already has slots may wait for itself: no error reports that.
    ///
    /// **Completion, cancellation, leaves behind.** As `client::async_acquire`.
    /// **Errors.** `contended` or `no_quorum` when `options.wait` is over; `invalid_argument`: an
    /// option is out of its range, or the client has no `fencing`. Else those of
    /// `client::async_acquire`. The lease is then empty, and its `votes()` say why.
    template <detail::token_for<void(error_code, lease)> T = detail::default_token>
    auto async_acquire(T&& token = T{}) {
        const auto wait = options_.get().wait;
        return acquire(wait == std::chrono::milliseconds(0) ? detail::longest_wait : wait,
                       detail::acquire_flavour::contention_is_an_error, std::forward<T>(token));
    }

    /// As `async_acquire`, but waits for up to `time`, whatever `options.wait` is; with 0 or less
    /// it tries once.
    template <detail::token_for<void(error_code, lease)> T = detail::default_token>
    auto async_acquire_for(std::chrono::milliseconds time, T&& token = T{}) {
        return acquire(detail::waiting_time(time), detail::acquire_flavour::contention_is_an_error,
                       std::forward<T>(token));
    }

    /// Tries once. That all slots are taken, or that waiters precede, is no error: it completes
    /// with an empty lease, whose `votes()` say so.
    template <detail::token_for<void(error_code, lease)> T = detail::default_token>
    auto async_try_acquire(T&& token = T{}) {
        return acquire(std::chrono::milliseconds(0),
                       detail::acquire_flavour::contention_is_a_value, std::forward<T>(token));
    }

    /// Gives a slot back, and wakes the next waiter: `client::async_release`.
    template <detail::token_for<void(error_code)> T = detail::default_token>
    auto async_release(lease held, T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code)>(
            detail::initiate<&detail::start_release>{impl_}, token, std::move(held));
    }

private:
    template <class T>
    auto acquire(std::chrono::milliseconds wait, detail::acquire_flavour flavour, T&& token) {
        acquire_options how = options_.get();
        how.wait = wait;
        return boost::asio::async_initiate<T, void(error_code, lease)>(
            detail::initiate<&detail::start_acquire>{impl_}, token, flavour, resource_,
            detail::kept_options(how));
    }

    detail::impl_ptr impl_;
    std::string resource_;
    detail::kept_options options_;
};

}  // namespace redlock

// A section as one call: runs a function while it holds a lock; shows no Asio.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/blocking_client.hpp>
#include <redlock/detail/section.hpp>
#include <redlock/export.hpp>
#include <redlock/lease.hpp>
#include <redlock/options.hpp>
#include <redlock/refusal.hpp>
#include <redlock/resource_list.hpp>
#include <redlock/result.hpp>

#include <functional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

namespace redlock {

namespace detail {

template <class F>
using section_value = std::invoke_result_t<F, const lease&, std::stop_token>;

/// The lease of one section. The destructor releases it if `end()` was not called.
class REDLOCK_EXPORT blocking_section {
public:
    blocking_section(blocking_client& client, lease held) noexcept
        : client_(&client), held_(std::move(held)) {}
    ~blocking_section();
    blocking_section(const blocking_section&) = delete;
    blocking_section& operator=(const blocking_section&) = delete;

    const lease& held() const noexcept { return held_; }
    /// Releases the lease. The code is zero if it was held until then.
    refusal end();

private:
    blocking_client* client_;
    lease held_;
    bool has_ended_ = false;
};

template <class F>
result<section_value<F>, refusal> run_section(blocking_client& client,
                                              result<lease, refusal> granted, F&& f) {
    using value = section_value<F>;
    static_assert(!std::is_reference_v<value>,
                  "redlock::with_lock: the function returns a reference; return a pointer");
    using boost::system::in_place_error;
    using boost::system::in_place_value;
    if (!granted) return {in_place_error, std::move(granted).error()};
    blocking_section section(client, std::move(*granted));
    if constexpr (std::is_void_v<value>) {
        std::invoke(std::forward<F>(f), section.held(), section.held().lost_token());
        if (refusal why = section.end(); why.code) return {in_place_error, std::move(why)};
        return {in_place_value};
    } else {
        value done = std::invoke(std::forward<F>(f), section.held(), section.held().lost_token());
        if (refusal why = section.end(); why.code) return {in_place_error, std::move(why)};
        return {in_place_value, std::move(done)};
    }
}

}  // namespace detail

/// Acquires `resource`, calls `f(lease, lost)` in this thread, and releases the lease, however `f`
/// ends. Returns what `f` returned, or why the section was not executed under the lock from its
/// beginning to its end.
///
///     const auto sold = redlock::with_lock(client, "stock:4711", {.wait = 5s},
///         [&](const redlock::lease& held, std::stop_token lost) {
///             return sell(held.fence(), lost);
///         });
///     if (!sold) std::cerr << sold.error().message() << '\n';
///
/// `lost` is `lease::lost_token()`: a function that takes longer than a moment stops when it says
/// so. The lease is renewed meanwhile, unless `options.renew` is off. With `options.watchdog` it is
/// renewed only as long as `f` calls `touch()` of its lease often enough.
///
/// A stop that is requested before `f` is called ends the wait: the error is
/// `boost::asio::error::operation_aborted`. Later it has no effect: a function that is to stop by
/// it captures it.
///
/// **Preconditions.** Those of `client::async_acquire`. `f` does not return a reference.
/// **Completion.** A value: `f` returned while the lease was held. Also if the release then reaches
/// no quorum: the client goes on to release the keys in the background.
/// **Leaves behind.** What `blocking_client::acquire` leaves if it refuses; then `f` was not
/// called. Else what a release leaves: it blocks until a quorum has answered or can't, for
/// `node_timeout` at most.
/// **Errors.** Those of `blocking_client::acquire`: `f` was not called. `lost`: the lease was lost
/// before `f` returned, or the nodes deny at the release that they had it. What `f` returned is
/// discarded: another holder may have been at work at the same time. `refusal::detail` says why it
/// was lost. `client_closed`: the client was closed before `f` returned; likewise.
/// An exception of `f` passes through when the lease is released, also if the lease was lost.
/// **Thread safety.** Any thread may call it, except the client's own: `would_deadlock`.
template <detail::section_function F>
[[nodiscard]] result<detail::section_value<F>, refusal> with_lock(blocking_client& client,
                                                                  std::string resource,
                                                                  acquire_options options, F&& f,
                                                                  std::stop_token stop = {}) {
    return detail::run_section(
        client, client.acquire(std::move(resource), options, std::move(stop)), std::forward<F>(f));
}
/// With the options of `acquire_options{}`: one attempt.
template <detail::section_function F>
[[nodiscard]] result<detail::section_value<F>, refusal> with_lock(blocking_client& client,
                                                                  std::string resource, F&& f,
                                                                  std::stop_token stop = {}) {
    return with_lock(client, std::move(resource), acquire_options{}, std::forward<F>(f),
                     std::move(stop));
}
/// Of several resources at once. See `client::async_acquire_all`.
template <detail::section_function F>
[[nodiscard]] result<detail::section_value<F>, refusal> with_lock(blocking_client& client,
                                                                  resource_list resources,
                                                                  acquire_options options, F&& f,
                                                                  std::stop_token stop = {}) {
    return detail::run_section(
        client, client.acquire_all(std::move(resources), options, std::move(stop)),
        std::forward<F>(f));
}

}  // namespace redlock

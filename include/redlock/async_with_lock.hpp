// A section as one asynchronous call: client::async_with_lock; includes Asio's coroutines.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/client.hpp>
#include <redlock/detail/async_section.hpp>
#include <redlock/options.hpp>
#include <redlock/resource_list.hpp>

#include <boost/asio/async_result.hpp>

#include <string>
#include <type_traits>
#include <utility>

namespace redlock {

/// Acquires `resource`, runs `f` while it holds the lease, and releases it, however `f` ends.
///
/// `f` is called with the lease (`const lease&`) and its `lost_token()` (`std::stop_token`). It is
///
/// - a coroutine function, which returns `asio::awaitable<R>`. It is cancelled when the lease is
///   lost or the client is closed: the operation that it awaits then ends with `operation_aborted`.
///   The section ends when the coroutine does, so one that ignores its cancellation goes on without
///   the lease.
/// - a function that returns `R`. It must return quickly: it occupies the thread that runs it.
///
///     auto sell = [&](const redlock::lease& held, std::stop_token) -> asio::awaitable<int> {
///         co_return co_await stock.take(held.fence());
///     };
///     const int left = co_await client.async_with_lock("stock:4711", {.wait = 5s}, sell);
///
/// The client stores a copy of `f`, calls that, and destroys it before the completion. What `f`
/// refers to has to live until then. `f` is a named object, or it is trivially destructible: a
/// function pointer, a lambda that captures nothing, or only references and plain values,
/// `std::ref(f)`. Other temporaries do not compile, since g++ 12 destroys them twice if they stand
/// in a `co_await` expression. `R` is `void` or default-constructible, and no reference.
///
/// **Preconditions.** Those of `async_acquire`.
/// **Executor.** `f` runs on a strand over the handler's executor; if it has none, or only Asio's
/// system executor (as `asio::use_future`), over the client's. That strand is also the coroutine's
/// `this_coro::executor`.
/// **Completion.** `void(std::exception_ptr, R)`, and `void(std::exception_ptr)` where `R` is void,
/// as `asio::co_spawn`: so a `co_await` throws what `f` threw, unchanged, and an error of the lock
/// can't be overlooked. An error of the lock is a `boost::system::system_error`, whose text says
/// why, node by node. A callback that takes an `error_code` in place of the exception, as
/// `(error_code, R)`, gets that of `code_of`. No exception: `f` ended while the lease was held.
/// Also if the release then reaches no quorum: the client goes on to release the keys in the
/// background. With an exception the value is `R{}`. The default token is `asio::use_awaitable`: in
/// Boost 1.81 a `co_await` takes no `asio::deferred` operation that completes with an exception and
/// a value, but by `co_await operation(asio::use_awaitable)`.
/// **Cancellation.** Of every type, by any thread. It cancels the acquire, or the coroutine; the
/// outcome is then usually `operation_aborted`, else how the coroutine ended. A function that has
/// begun, and the release, end as usual. `client::cancel()` ends an acquire that is under way.
/// **Leaves behind.** What `async_acquire` leaves if it fails; then `f` was not called. Else what
/// `async_release` leaves.
/// **Errors.** Those of `async_acquire`: `f` was not called. `lost`: the lease was lost before `f`
/// ended, or the nodes deny at the release that they had it. What `f` returned is discarded, since
/// another holder may have been at work at the same time. `client_closed`: the client was closed
/// before `f` ended; likewise. An exception of `f` precedes these two, except `operation_aborted`.
/// **Thread safety.** As all of `client`.
template <detail::section_function F, class T>
auto client::async_with_lock(resource_list resources, acquire_options options, F&& f, T&& token) {
    using outcome = detail::section_outcome<F>;
    using value = typename outcome::type;
    static_assert(std::is_lvalue_reference_v<F> || std::is_trivially_destructible_v<F>,
                  "redlock: give the function a name before the call, as in `auto f = [...]...; "
                  "co_await client.async_with_lock(name, options, f)`: g++ 12 destroys a temporary "
                  "twice that stands in a co_await expression and captures more than references");
    static_assert(std::is_void_v<value> || std::is_default_constructible_v<value>,
                  "redlock: what the function returns has to be void or default-constructible");
    return boost::asio::async_initiate<T, detail::section_signature<F, T>>(
        detail::initiate_section<detail::section_gives_code<F, T>>{impl_}, token,
        std::move(resources), options, std::decay_t<F>(std::forward<F>(f)));
}
template <detail::section_function F, class T>
auto client::async_with_lock(std::string resource, acquire_options options, F&& f, T&& token) {
    return async_with_lock(resource_list(std::move(resource)), options, std::forward<F>(f),
                           std::forward<T>(token));
}
template <detail::section_function F, class T>
auto client::async_with_lock(std::string resource, F&& f, T&& token) {
    return async_with_lock(resource_list(std::move(resource)), acquire_options{},
                           std::forward<F>(f), std::forward<T>(token));
}

}  // namespace redlock

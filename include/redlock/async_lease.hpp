// What the holder of a lease does with it.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/client.hpp>
#include <redlock/detail/access.hpp>
#include <redlock/detail/initiate.hpp>
#include <redlock/lease.hpp>
#include <redlock/loss.hpp>

#include <boost/asio/async_result.hpp>

#include <chrono>
#include <utility>

namespace redlock {

/// Prolongs a lease to `ttl` from now on a quorum of nodes. Later renewals use the new ttl.
///
/// **Preconditions.** The lease is not empty and belongs to this client. `ttl` is positive, at
/// most `ttl_max`, and longer than its own drift allowance and the lease's `loss_margin`.
/// Otherwise the error is `invalid_argument`, and nothing is sent.
/// **Completion.** Success: `valid_until()` counts from the sending of this request, but never
/// becomes earlier by it, and never later than `max_hold` allows.
/// **Cancellation.** Requests on their way may still prolong the keys, but not the validity.
/// **Leaves behind.** After an error the validity stays as it was, and renewal goes on. After
/// `not_held` from the nodes the lease is lost (`loss::taken`).
/// **Errors.** `no_quorum`: too few nodes could vote. `validity_exhausted`: the answers came
/// too late for the new ttl. `not_held`: a quorum says that the key is not this lease's, or
/// the lease was released. `lost`: the lease ended before or during the call.
template <detail::token_for<void(error_code)> T>
auto client::async_extend(const lease& held, std::chrono::milliseconds ttl, T&& token) {
    return boost::asio::async_initiate<T, void(error_code)>(
        detail::initiate<&detail::start_extend>{impl_}, token, detail::access::state(held), ttl);
}

/// Turns an exclusive lease into a shared one, without a moment in which nobody holds the
/// resource: readers that wait get in, writers do not. The lease object, its owner and its
/// fence stay the same; it is renewed, lost and released as before. The fences of readers that
/// come later are above its own.
///
/// From this call on the lease promises no more than a shared one does, whatever the outcome:
/// the first node that has got the request may let readers in. What has to be done alone is
/// done before the call.
///
/// There is no way back: a shared lease can't become exclusive. Two readers that both wanted
/// that would each wait until the other is gone. Release, and acquire again.
///
/// **Preconditions.** The lease is not empty and belongs to this client. It is of one resource
/// and of no slot, its `min_hold` is over, and `fencing` is on. It was not adopted, and its
/// `token()` was not called before this: another process could prolong or release by it what is
/// no longer there. Otherwise the error is `invalid_argument`, nothing is sent, and the lease
/// stays exclusive.
/// **Completion.** Success: a quorum of nodes shares the resource. `valid_until()` counts from
/// the sending of this request, as after `async_extend` with the present ttl. If that is known
/// already, or the lease was acquired as shared: at once, and nothing is sent.
/// **Cancellation.** The lease is shared all the same, as after an error.
/// **Leaves behind.** After an error the validity stays as it was. Some nodes may share the
/// resource, while others still keep readers out; each renewal turns those that it reaches, and
/// so does another call. A release ends the lease on both. After `not_held` from the nodes the
/// lease is lost (`loss::taken`).
/// **Errors.** `no_quorum`: too few nodes could vote. `validity_exhausted`: the answers came
/// too late for the ttl. `not_held`: a quorum says that the key is not this lease's, or
/// the lease was released. `lost`: the lease ended before or during the call.
template <detail::token_for<void(error_code)> T>
auto client::async_downgrade(const lease& held, T&& token) {
    return boost::asio::async_initiate<T, void(error_code)>(
        detail::initiate<&detail::start_downgrade>{impl_}, token, detail::access::state(held));
}

/// Releases a lease on every node. The lease ends with this call, whatever the outcome is.
///
/// **Preconditions.** The lease is not empty and belongs to this client. Otherwise the error
/// is `invalid_argument`; a lease of another client is then released by that client.
/// **Completion.** When a quorum has answered and no later answer can make it `not_held`, or
/// when no quorum can answer any more.
/// **Cancellation.** The release goes on in the background.
/// **Leaves behind.** A node whose connection broke before it answered gets the release first
/// on its next connection, however late that is. Until then its key remains, or until its ttl
/// ends. Of a lease that was adopted, or whose `token()` was called, each node notes for
/// `ttl_max` that it was released: no other program that has the token takes the key again.
/// **Errors.** `not_held`: a quorum says that the key was not this lease's any more.
/// `no_quorum`: too few nodes answered. `lost`: the lease was lost before. Its keys are deleted all
/// the same; if it was adopted, or its `token()` called, they run out, since another program may go
/// on with them.
template <detail::token_for<void(error_code)> T>
auto client::async_release(lease held, T&& token) {
    return boost::asio::async_initiate<T, void(error_code)>(
        detail::initiate<&detail::start_release>{impl_}, token, std::move(held));
}

/// Waits until a lease is lost. A loss is a value, not an error.
///
/// **Preconditions.** The lease is not empty and belongs to this client. Otherwise the error
/// is `invalid_argument`.
/// **Completion.** Success: the lease was lost, for the reason given. The client reports it no
/// later than `valid_until()` if a thread runs its executor; at once if it is lost already.
/// **Leaves behind.** Nothing. Cancelling it does not affect the lease.
/// **Errors.** `not_held`: the lease was released, destroyed or detached instead.
template <detail::token_for<void(error_code, loss)> T>
auto client::async_lost(const lease& held, T&& token) {
    return boost::asio::async_initiate<T, void(error_code, loss)>(
        detail::initiate<&detail::start_lost>{impl_}, token, detail::access::state(held));
}

/// Calls `close()`; completes when the last connection is closed, also after the destructor.
///
/// **Completion.** Success: at least a quorum of nodes answered every release; on the other
/// nodes, which events name, keys may remain until their ttl ends. A further call completes
/// together with the first, or at once, as that did; it succeeds if the client was moved from.
/// **Cancellation.** The client goes on closing in the background.
/// **Errors.** `no_quorum`: fewer nodes answered every release; locks may stay taken until the
/// ttl of their keys ends. `client_closed` only if the execution context was destroyed.
template <detail::token_for<void(error_code)> T>
auto client::async_close(T&& token) {
    return boost::asio::async_initiate<T, void(error_code)>(
        detail::initiate<&detail::start_close>{impl_}, token);
}

}  // namespace redlock

// How a client acquires: one resource, several at once, or a lease of another process.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/client.hpp>
#include <redlock/detail/initiate.hpp>
#include <redlock/lease.hpp>
#include <redlock/options.hpp>
#include <redlock/resource_list.hpp>

#include <boost/asio/async_result.hpp>

#include <string>
#include <utility>

namespace redlock {

/// Acquires `resource`. The client sends the request to all nodes in parallel. The lease is
/// granted once a quorum of nodes has granted it and its validity is still positive. A node
/// that grants executes `SET resource owner PX ttl` and, unless `fencing` is off, stores the
/// lease's fence. A node in quarantine (it may have lost its data), or whose clock is too far
/// from the others, receives the request too, but has no vote.
///
/// While the client is still connecting, the acquire first waits for the nodes: at most
/// `connect_timeout`, twice as long if a quorum is still answering by then, plus one
/// `node_timeout` if nodes are about to get their vote.
///
/// With `wait` > 0 the acquire queues for the resource. Within this client, waiters are served
/// in the order of their calls, and only the first waiter sends requests to the nodes. Between
/// clients, waiters are served in the order of their first tries, to about a round trip. A
/// waiter does not poll: the release of the lock wakes the next waiter. If a key is deleted
/// without a release, the next waiter finds it free within 0.75 s and two round trips. The
/// nodes keep a waiter's place for 2 s after the client last refreshed it. An acquire without
/// `wait` never overtakes queued waiters. With `fencing` off, only this client has a queue,
/// and its first waiter tries again every 5 to 100 ms; so does a waiter that can reach no
/// quorum.
///
/// The client limits how many acquires are in flight. Without `wait`: as many as the nodes
/// answer well within `node_timeout`; an acquire above that is held back for at most
/// `connect_timeout`, then fails with `no_quorum` and votes that say `backlog`. With `wait`:
/// 64.
///
/// **Preconditions.** `validate_resource` and `validate` find no error in `resource` and
/// `options`. An `owner` that is given holds or acquires this resource nowhere else in this
/// client. Otherwise the error is `invalid_argument`, and nothing is sent.
/// **Completion.** As soon as the votes decide the outcome, or when `wait` is over. The client
/// then renews the lease until it is released or lost, unless `renew` is off.
/// **Leaves behind.** Success: grants that arrive later belong to the lease and are released
/// with it. Any error: the client sends a release to every node to which it sent the request,
/// whatever that node answered, and removes the waiter from the queues; the handler does not
/// wait for the answers. A waiter that never was the first in this client has sent nothing;
/// its votes are `queued`.
/// **Errors.** `contended`, `no_quorum`, `validity_exhausted`, `invalid_argument`. The lease
/// is then empty; its `votes()` give the reason node by node (none for `invalid_argument`;
/// after a cancellation those of the last try, if there was one).
template <detail::token_for<void(error_code, lease)> T>
auto client::async_acquire(std::string resource, acquire_options options, T&& token) {
    return boost::asio::async_initiate<T, void(error_code, lease)>(
        detail::initiate<&detail::start_acquire>{impl_}, token, std::move(resource), options);
}
template <detail::token_for<void(error_code, lease)> T>
auto client::async_acquire(std::string resource, T&& token) {
    return async_acquire(std::move(resource), acquire_options{}, std::forward<T>(token));
}

/// Acquires several resources at once: each node grants all of them, under one fence, or none.
/// One lease holds them, and is renewed, lost and released as one. Programs that name the same
/// resources in other orders do not block each other.
///
/// As soon as one of the resources cannot be acquired, the acquire waits in the queues of all
/// of them with one ticket. Acquires that begin later get none of them before it does, not
/// even those that are free. For other programs this holds from its first refusal on.
/// A list of one resource is acquired as by `async_acquire`.
///
/// **Preconditions.** `validate_resources` and `validate` find no error; `mode` is exclusive,
/// and `slots` is 0. An `owner` that is given holds or acquires none of the resources elsewhere
/// in this client. Otherwise the error is `invalid_argument`, and nothing is sent.
/// **Completion, leaves behind, errors.** As `async_acquire`. A vote that is `held` names the
/// resource that is held for longest on that node, one that is `queued` the first that others
/// wait for.
template <detail::token_for<void(error_code, lease)> T>
auto client::async_acquire_all(resource_list resources, acquire_options options, T&& token) {
    return boost::asio::async_initiate<T, void(error_code, lease)>(
        detail::initiate<&detail::start_acquire_all>{impl_}, token, std::move(resources), options);
}
template <detail::token_for<void(error_code, lease)> T>
auto client::async_acquire_all(resource_list resources, T&& token) {
    return async_acquire_all(std::move(resources), acquire_options{}, std::forward<T>(token));
}

/// Takes over a lease that another process acquired, by its `lease::token()`, so that this
/// process can prolong and release it. Prolongs the keys to `ttl` from now where they still are
/// the lease's, and never makes them expire earlier. The lease is valid only as far as a quorum
/// proves by that: for `ttl` from the sending of this request, less the drift allowance.
///
/// The lease has the owner and the fence that it had. The process that acquired it should
/// `lease::detach()` it: as long as it holds the lease, it renews and releases it, too. Once
/// one of them has released it, it is lost as `taken` for the others at their next renewal.
///
/// **Preconditions.** The token is whole, and comes from a client of the same nodes, with the
/// same `key_prefix` and `fencing`. `validate` finds no error in `options`; `ttl`, `renew`,
/// `max_hold`, `loss_margin`, `watchdog` and `note` count. The note is empty, or the lease's own,
/// which the token names. Otherwise: `invalid_argument`, and nothing is sent.
/// **Completion.** As soon as the nodes' answers decide. The client then renews the lease, as
/// after an acquire.
/// **Leaves behind.** After `not_held`: nothing of the lease; what is left of its keys is
/// released, or kept for the rest of `min_hold`. After another error, or a cancellation: keys
/// that may have been prolonged. A key that is gone, or another holder's, is not touched.
/// **Errors.** `not_held`: a quorum says that the keys are not the lease's any more, or a node
/// that it was released. `no_quorum`: too few nodes could vote; or the client has a joint list, and
/// the keys are on a quorum of the old or the new list alone: a program with that list may hold
/// the lease. `validity_exhausted`: the answers came too late for this ttl. The lease is then
/// empty; its `votes()` give the reason node by node.
template <detail::token_for<void(error_code, lease)> T>
auto client::async_adopt(std::string token, acquire_options options, T&& completion) {
    return boost::asio::async_initiate<T, void(error_code, lease)>(
        detail::initiate<&detail::start_adopt>{impl_}, completion, std::move(token), options);
}
template <detail::token_for<void(error_code, lease)> T>
auto client::async_adopt(std::string token, T&& completion) {
    return async_adopt(std::move(token), acquire_options{}, std::forward<T>(completion));
}

}  // namespace redlock

// What an operator does through a client: revoke, declare nodes new, end a change of their list,
// note a run.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/client.hpp>
#include <redlock/detail/initiate.hpp>
#include <redlock/list_state.hpp>
#include <redlock/resource_state.hpp>
#include <redlock/vote.hpp>

#include <boost/asio/async_result.hpp>

#include <utility>
#include <vector>

namespace redlock {

/// Revokes the leases of a resource, as an operator does when a program hangs. The owners,
/// readers and slots that `shown` names lose their keys on every node; `shown` is what
/// `async_inspect` completed with. A holder that acquired the resource after that keeps it.
///
/// A holder whose lease is revoked relies on it until its next renewal, at the latest a ttl
/// later. Until then it and the next holder may both be at work, and only the fence tells them
/// apart. The revoked lease is then lost as `taken`, and no renewal can take its key again.
/// With `fencing` off a key is only deleted.
///
/// `shown` is copied during the call. It can't be a temporary: g++ 12 destroys one twice if it
/// stands in a `co_await` expression.
///
/// **Preconditions.** None of `shown`: names that hold nothing any more are passed over.
/// **Completion.** When every node has answered, or failed.
/// **Cancellation.** Nothing, or any part of it, was done.
/// **Leaves behind.** On each node whose vote is granted: the keys are gone, and the next
/// waiter is woken; the fence is raised; the revoked values are noted for `ttl_max`.
/// **Errors.** `no_quorum`: fewer than a quorum of nodes did it, or `shown` names nobody and is
/// not decided; the holders may still have their lease, and the call may be repeated. A node whose
/// vote is `other_set` was left alone: this list is not the one in force.
/// `invalid_argument`: the resource can't be one.
template <detail::token_for<void(error_code, revocation)> T>
auto client::async_revoke(const resource_state& shown, T&& token) {
    return boost::asio::async_initiate<T, void(error_code, revocation)>(
        detail::initiate<&detail::start_revoke>{impl_}, token, shown);
}

/// Notes a run under a resource on every node, as `redlock run --record` does when a command begins
/// and when it ends. It takes the place of the run with the same `run_record::id`, so a run that
/// never ended shows as such. A best effort: it is part of no guarantee, and no lock looks at it.
///
/// The nodes keep the last 20 runs of a resource, all of them for `keep` from now on, or for as
/// long as another run wanted. Of `id` and `host` the first 64 bytes count, and what is no visible
/// ASCII becomes `_`. `run` is copied during the call. It can't be a temporary: g++ 12 destroys one
/// twice if it stands in a `co_await` expression.
///
/// **Completion.** When every node has answered or failed, with the runs on record, as of
/// `async_last_runs`.
/// **Cancellation.** Any node may have noted it.
/// **Leaves behind.** On each node that answered the string `<prefix>{resource}:last`, for `keep`.
/// **Errors.** `no_quorum`: fewer than a quorum of nodes noted it; those that did keep it. Where a
/// node refused, its reason, such as `missing_right`.
/// `invalid_argument`: the resource can't be one, `id` is empty, or `keep` is not above 0.
template <detail::token_for<void(error_code, std::vector<run_record>)> T>
auto client::async_record_run(std::string resource, const run_record& run,
                              std::chrono::milliseconds keep, T&& token) {
    return boost::asio::async_initiate<T, void(error_code, std::vector<run_record>)>(
        detail::initiate<&detail::start_record_run>{impl_}, token, std::move(resource), run, keep);
}

/// Declares that no lease granted earlier is still valid, so that the nodes vote at once. An
/// operator needs it, for instance, when a node is missing at a cluster's first start.
///
/// **Preconditions.** No program holds a lock on these nodes. Only an operator can know this.
/// If it is wrong, two clients can hold the same lock. `fencing` and `restart_guard` are on;
/// otherwise no node is ever in quarantine, and the error is `invalid_argument`. So it is with
/// a joint list: a change is ended by `async_commit`.
/// **Completion.** When every node has answered or failed. Success: at least a quorum of nodes
/// took the declaration. The votes are `granted` for each node that took it, also after an
/// error. The client's `ttl_max` counts from then on, also where the nodes had a larger one.
/// **Cancellation.** Nodes to which the declaration was sent may still take it.
/// **Leaves behind.** A node that took it belongs to this client's set of nodes, and has a
/// vote with each client once that client has repeated its handshake with the node. Until
/// then, some round trips, an acquire without `wait` may fail with `no_quorum`. A node that
/// did not take it is judged by what it shows when it is back: it votes at once if the same
/// process answers again, and `ttl_max` after a client made its record if it is empty or was
/// restarted. If its record names another set, no client with this set is granted a lock from
/// when it meets the node until the node is declared new, too.
/// **Errors.** `no_quorum`: fewer nodes took it; those that did keep the declaration.
template <detail::token_for<void(error_code, std::vector<node_vote>)> T>
auto client::async_init(const init_options& how, T&& token) {
    return boost::asio::async_initiate<T, void(error_code, std::vector<node_vote>)>(
        detail::initiate<&detail::start_init>{impl_}, token, how);
}
template <detail::token_for<void(error_code, std::vector<node_vote>)> T>
auto client::async_init(T&& token) {
    const init_options usual;
    return async_init(usual, std::forward<T>(token));
}

/// Ends a change of the list of nodes while locks are held: from then on the new list stands,
/// and programs with the new list alone may be started. Every program should have the joint
/// list by then: one that still has the old list gets no lock any more. The nodes of the old
/// list are closed for all other programs first; when a majority of them is, each node is given
/// the new list. Leases by the joint list go on.
///
/// With `gives_up` the old list stands in the end, unless the new one may already (`other_set`).
/// Two operators at once agree: the change that a majority was closed for stands.
///
/// With `without` it first gives their records back to nodes that have lost them, and wait for a
/// node that is gone.
///
/// **Preconditions.** The list is a joint one, or a node is given up by `without`; `fencing` and
/// `restart_guard` are on; otherwise the error is `invalid_argument`.
/// **Completion.** Success: the list that was wanted stands on a majority of the old and of the
/// new list. `votes` names the nodes that have still to follow; programs that have met the
/// others turn them.
/// **Cancellation.** Nothing, or any part of it, was done; what was closed stays closed.
/// **Leaves behind.** Repeating it is harmless, and goes on where it ended.
/// **Errors.** `other_set`: programs with another list are connected, or can't be seen
/// (`old_programs`, `detail`); nothing was done. Or another change won: `detail` says which.
/// `no_quorum`: no quorum of the new list votes, and nothing was done; or no majority was
/// closed, or none was written. `in_quarantine`: an earlier change
/// is too recent; `nodes` say for how long.
template <detail::token_for<void(error_code, commit_report)> T>
auto client::async_commit(const commit_options& how, T&& token) {
    return boost::asio::async_initiate<T, void(error_code, commit_report)>(
        detail::initiate<&detail::start_commit>{impl_}, token, how);
}
template <detail::token_for<void(error_code, commit_report)> T>
auto client::async_commit(T&& token) {
    const commit_options usual;
    return async_commit(usual, std::forward<T>(token));
}

}  // namespace redlock

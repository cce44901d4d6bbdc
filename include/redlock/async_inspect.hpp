// What a client reads of the nodes: holders, names, and how the nodes are. Changes nothing there.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/client.hpp>
#include <redlock/detail/initiate.hpp>
#include <redlock/node_report.hpp>
#include <redlock/resource_state.hpp>

#include <boost/asio/async_result.hpp>

#include <string>
#include <utility>
#include <vector>

namespace redlock {

/// Reads from every node, in one answer, all that it has of `resource` at that instant. Takes no
/// lock. The user needs the right to run scripts (`+evalsha +eval`).
///
/// **Preconditions.** `validate_resource` accepts `resource`. Otherwise the error is
/// `invalid_argument`, and nothing is sent.
/// **Completion.** When every node has answered or failed. Nodes that are down are no error:
/// the state says node by node what is known.
/// **Leaves behind.** Nothing, also when cancelled.
template <detail::token_for<void(error_code, resource_state)> T>
auto client::async_inspect(std::string resource, T&& token) {
    return boost::asio::async_initiate<T, void(error_code, resource_state)>(
        detail::initiate<&detail::start_inspect>{impl_}, token, std::move(resource));
}

/// Completes when `resource` has changed hands compared with `last`, with its state: it is
/// taken, free or kept, another owner holds it, readers share it, another reader does or one
/// does no more, or one of its slots has another holder or none. That a lease was extended is
/// no change, nor is what else differs in a state. `last` is what the caller knows, as this
/// function or `async_inspect` completed with it, so a change between two calls is not missed:
/// it completes at once then. Several changes may be reported as one; the state is always the
/// latest.
///
/// Without `last`, or with one that was not `decided`, it completes with the first state that
/// is certain. A state is certain if no node whose answer is missing, or that has no vote,
/// could change the holders. While too few nodes answer for that, the watch goes on.
///
/// While anything is watched the client looks at all that it watches together, every 94 to 156
/// ms, or up to 313 ms where none has changed for 12 s: one short script on each node for each
/// 64 resources. With more than 1,500 it takes more time, 80 us for each. So a change is
/// reported after at most that time and two round trips, and a change by this client itself
/// after one. A node that begins to hang may delay that once by a `node_timeout`. Watchers of
/// one resource share all requests.
///
/// `last` is copied during the call. It can't be a temporary: g++ 12 destroys one twice if it
/// stands in a `co_await` expression.
///
/// **Preconditions.** `validate_resource` accepts `resource`. Otherwise the error is
/// `invalid_argument`, and nothing is sent.
/// **Completion.** At a change, however late that is: nothing else ends it but a cancellation.
/// **Leaves behind.** Nothing, also when cancelled. It takes no lock and no place in a queue.
template <detail::token_for<void(error_code, resource_state)> T>
auto client::async_watch(std::string resource, const resource_state& last, T&& token) {
    return boost::asio::async_initiate<T, void(error_code, resource_state)>(
        detail::initiate<&detail::start_watch>{impl_}, token, std::move(resource), last);
}
template <detail::token_for<void(error_code, resource_state)> T>
auto client::async_watch(std::string resource, T&& token) {
    const resource_state nothing;
    return async_watch(std::move(resource), nothing, std::forward<T>(token));
}

/// Names the resources that begin with `what.prefix`, and of which one of a quorum of nodes has the
/// key, in alphabetical order: those that are held, by leases or by other programs' locks, and
/// strings of other programs. `async_inspect` tells which. With `what.leases_only` only those whose
/// value has the form of this library's, or none.
///
/// The nodes look at all their keys for that, page by page (SCAN), for about 1 s of their time
/// per million: not for a program that does it often. The user needs the right `+scan`.
///
/// **Completion.** When a quorum of nodes has named all, or too many failed.
/// **Leaves behind.** Nothing.
/// **Errors.** `no_quorum`: fewer than a quorum of nodes named all. `backlog`: there are more
/// than 1,000,000.
template <detail::token_for<void(error_code, std::vector<std::string>)> T>
auto client::async_list(list_query what, T&& token) {
    return boost::asio::async_initiate<T, void(error_code, std::vector<std::string>)>(
        detail::initiate<&detail::start_list>{impl_}, token, std::move(what));
}

/// The runs under a resource that `async_record_run` noted, from the latest start on: of each run
/// the most that a node knows. It costs a node one GET.
///
/// **Completion.** When every node has answered or failed.
/// **Leaves behind.** Nothing.
/// **Errors.** `no_quorum`: fewer than a quorum of nodes answered; where one refused, its reason,
/// such as `missing_right`. Then the runs are those that the others know of.
template <detail::token_for<void(error_code, std::vector<run_record>)> T>
auto client::async_last_runs(std::string resource, T&& token) {
    return boost::asio::async_initiate<T, void(error_code, std::vector<run_record>)>(
        detail::initiate<&detail::start_last_runs>{impl_}, token, std::move(resource));
}

/// Asks every node for what an operator should know of it: whether it votes, how it keeps its
/// data, its clock, its memory, the rights of this user. `node_report::findings` names what is
/// wrong, and what to do about it. It tries what a lock needs: it writes and deletes a key of
/// its own, `redlock:probe` behind the key prefix.
///
/// **Completion.** When every node has answered or failed: within two `connect_timeout` and
/// one `node_timeout`. One report per node, in the order of the options; nodes that are down
/// are no error.
/// **Leaves behind.** Nothing on the nodes; for a user that may not delete, that key for a
/// second. With `fencing` on the client listens to the nodes for half a minute, as after a
/// wait.
template <detail::token_for<void(error_code, std::vector<node_report>)> T>
auto client::async_probe(T&& token) {
    return boost::asio::async_initiate<T, void(error_code, std::vector<node_report>)>(
        detail::initiate<&detail::start_probe>{impl_}, token);
}

}  // namespace redlock

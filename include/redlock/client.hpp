// The asynchronous client: locks over a quorum of nodes; knows nothing of sockets and scripts.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/detail/initiate.hpp>
#include <redlock/export.hpp>
#include <redlock/lease.hpp>
#include <redlock/loss.hpp>
#include <redlock/options.hpp>
#include <redlock/resource_state.hpp>
#include <redlock/stats.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>

#include <chrono>
#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock {

/// Takes, keeps and gives back locks over N independent Redis masters (the Redlock algorithm).
///
/// **Thread-safety.** Every member may be called from any thread; the client works on a strand of
/// its own over the executor it was given.
///
/// **Completion.** A handler is posted through the client's executor and from there dispatched to
/// its associated executor, or called there when it has none; never from within the initiating
/// function. Until then it lies in memory of its associated allocator. A handler without one, and
/// all else that an operation allocates, lies in blocks that each thread keeps for reuse.
///
/// **Cancellation.** Every operation supports terminal, partial and total cancellation through the
/// handler's cancellation slot and completes with `asio::error::operation_aborted`. What it leaves
/// behind is said for each.
///
/// **Lifetime.** Connections are opened by the constructor and stay open, so `io_context::run()`
/// returns once the client is closed. Destroying the client closes it. The execution context may be
/// destroyed first, while no other thread calls the client: it drops the handlers that it has not
/// called, as Asio does. What is started afterwards completes with `errc::client_closed`, on the
/// handler's own executor or, where it has none, on a thread of Asio's system executor; so do
/// operations of a client that was moved from.
class REDLOCK_EXPORT client {
public:
    using executor_type = boost::asio::any_io_executor;

    /// Starts to connect. Throws `std::invalid_argument` that names every field that is wrong, and
    /// `boost::system::system_error` where the system has no descriptor for the client's timer.
    client(boost::asio::any_io_executor executor, client_options options);
    template <std::derived_from<boost::asio::execution_context> Context>
    client(Context& context, client_options options)
        : client(context.get_executor(), std::move(options)) {}
    /// `close()`.
    ~client();
    client(client&& other) noexcept;
    client& operator=(client&& other) noexcept;

    /// Ends every operation with `errc::client_closed`, and every lease: their keys are released.
    /// The connections stay open until the nodes have answered the releases. A node that answers
    /// nothing for `node_timeout` is given up, and every node after `ttl_max`, when all keys have
    /// expired. For each node that is given up, one `event_kind::releases_given_up` says how many
    /// releases it had not answered. Returns at once; idempotent.
    void close() noexcept;

    /// `close()`, and completes when the last connection is closed. Called again, or after
    /// `close()`, it completes at the same time, or at once, with the same outcome.
    /// - success: at least a quorum of nodes has answered every release. On the others, which
    ///   events name, keys may be left until their ttl is over.
    /// - `no_quorum`: fewer nodes have; locks may stay taken until the ttl of their keys is over.
    /// - cancelled: the closing goes on in the background.
    ///
    /// The client may be destroyed before it completes.
    template <detail::token_for<void(error_code)> T = detail::default_token>
    auto async_close(T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code)>(
            detail::initiate_close{impl_}, token);
    }

    /// Cancels every operation that was started earlier, as its cancellation slot would. Leases,
    /// renewal and connections stay.
    void cancel();

    /// Empty when the client was moved from or its execution context is gone.
    executor_type get_executor() const noexcept;

    /// Acquires `resource`: asks all nodes in parallel, granted when a quorum said so within the
    /// validity (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/). Each node
    /// that grants has `SET resource owner PX ttl` and, unless `fencing` is off, the lease's fence.
    /// A node in quarantine, or with a clock of its own, is asked and has no vote. A client that is
    /// still connecting waits for its nodes first, for `connect_timeout` at most, and for one
    /// `node_timeout` more where they are about to get their votes.
    ///
    /// With `wait` > 0 it stands in line until then: first come, first served among the callers of
    /// this client, of whom the first alone is known to the nodes; between clients in the order of
    /// their first tries, about. It is told when the lock is given back, and polls nobody; a lock
    /// that its holder deletes without a word is found free within 0.75 s and two round trips. The
    /// nodes keep its place for 2 s after they last heard of it. Without `wait` it is behind all who
    /// stand in line. Plain locks (`fencing` off), with a line in this client only, and whoever can
    /// reach no quorum try again every 5 to 100 ms. Completes as soon as the votes decide it.
    ///
    /// Of very many acquires at once not all are sent at once: without `wait` as many as the nodes
    /// answer well within `node_timeout`, the others behind them, for `connect_timeout` at most, and
    /// then `no_quorum` with votes that say `backlog`; with `wait` 64 at a time.
    /// - success: the lease. Grants that come later belong to it and are released with it.
    /// - `contended`, `no_quorum`, `validity_exhausted`: the lease is empty and carries the votes.
    ///   A release was sent to every node that was asked, whatever it answered; it is not waited for.
    ///   The place in line is left. One that never was first in this client has asked no node: its
    ///   votes are `queued`.
    /// - `operation_aborted`, `client_closed`: likewise.
    /// - `invalid_argument`: nothing was sent. The resource is 1 to 512 bytes; the ttl is positive,
    ///   at most `ttl_max` and longer than its own drift allowance; no duration is negative.
    template <detail::token_for<void(error_code, lease)> T = detail::default_token>
    auto async_acquire(std::string resource, acquire_options options, T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, lease)>(
            detail::initiate_acquire{impl_, detail::acquire_flavour::contention_is_an_error}, token,
            std::move(resource), options);
    }
    template <detail::token_for<void(error_code, lease)> T = detail::default_token>
    auto async_acquire(std::string resource, T&& token = T{}) {
        return async_acquire(std::move(resource), acquire_options{}, std::forward<T>(token));
    }

    /// The same, where contention is no error: somebody else's lock gives no error and an empty
    /// lease that carries the votes.
    template <detail::token_for<void(error_code, lease)> T = detail::default_token>
    auto async_try_acquire(std::string resource, acquire_options options, T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, lease)>(
            detail::initiate_acquire{impl_, detail::acquire_flavour::contention_is_a_value}, token,
            std::move(resource), options);
    }
    template <detail::token_for<void(error_code, lease)> T = detail::default_token>
    auto async_try_acquire(std::string resource, T&& token = T{}) {
        return async_try_acquire(std::move(resource), acquire_options{}, std::forward<T>(token));
    }

    /// Prolongs a lease to `ttl` from now on a quorum of nodes; renewal keeps the new ttl.
    /// - success: `valid_until()` has moved. It never moves back.
    /// - `no_quorum`: too few nodes answered; the old validity stands.
    /// - `not_held`: a quorum says that the key is not ours; `lost`: the lease had ended;
    ///   `invalid_argument`: the lease is empty, of another client, or the ttl is out of range.
    /// - cancelled: what was sent may still prolong the keys, never the validity.
    template <detail::token_for<void(error_code)> T = detail::default_token>
    auto async_extend(const lease& held, std::chrono::milliseconds ttl, T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code)>(
            detail::initiate_extend{impl_}, token, held.state(), ttl);
    }

    /// Gives a lease back on every node. The lease is over when this is called, whatever comes.
    /// Completes at a quorum of answers, unless a quorum may still deny it, or when that is
    /// impossible.
    /// - success: a quorum answered; `not_held`: a quorum says that the key was not ours any more;
    ///   `no_quorum`: too few answered. A node that did not answer gets the release on its next
    ///   connection, however late that is.
    /// - `lost`: the lease had been lost before; its keys are deleted all the same.
    /// - `invalid_argument`: the lease is empty, or another client's, which then releases it.
    /// - cancelled: the release goes on in the background.
    template <detail::token_for<void(error_code)> T = detail::default_token>
    auto async_release(lease held, T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code)>(
            detail::initiate_release{impl_}, token, std::move(held));
    }

    /// Waits until a lease is lost. Loss is a value: completes without error and with the reason,
    /// no later than `valid_until()`. `not_held` when the lease is given back or detached first.
    /// Leaves nothing behind.
    template <detail::token_for<void(error_code, loss)> T = detail::default_token>
    auto async_lost(const lease& held, T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, loss)>(
            detail::initiate_lost{impl_}, token, held.state());
    }

    /// Asks every node who holds `resource`. Completes when every node answered or timed out; the
    /// state says, node by node, what is known. Takes nothing and leaves nothing behind.
    /// - success, also when nodes are down; `invalid_argument`, `client_closed`.
    template <detail::token_for<void(error_code, resource_state)> T = detail::default_token>
    auto async_inspect(std::string resource, T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, resource_state)>(
            detail::initiate_inspect{impl_}, token, std::move(resource));
    }

    /// Declares all nodes new: no lease that was granted before can be alive, so they vote at once.
    /// Only a person can know that, for instance of a first start with a node missing; where it is
    /// not so, two holders become possible. Every node must be reachable, and every client greets
    /// them anew.
    /// - success: every node took it; `no_quorum`: not all did, and the votes say which: `granted`
    ///   where it was taken.
    /// - `invalid_argument`: the restart guard, or `fencing`, is off, and nothing is in quarantine.
    /// - cancelled: nodes that had it in hand may still take it.
    template <detail::token_for<void(error_code, std::vector<node_vote>)> T = detail::default_token>
    auto async_init(T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, std::vector<node_vote>)>(
            detail::initiate_init{impl_}, token);
    }

    /// Counters since the client was made.
    client_stats stats() const;

private:
    std::shared_ptr<detail::client_impl> impl_;
};

}  // namespace redlock

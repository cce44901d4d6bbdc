// The asynchronous client: locks over a quorum of nodes; names no socket and no script.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/config.hpp>
#include <redlock/detail/initiate.hpp>
#include <redlock/detail/kept_options.hpp>
#include <redlock/detail/section.hpp>
#include <redlock/export.hpp>
#include <redlock/lease.hpp>
#include <redlock/list_state.hpp>
#include <redlock/loss.hpp>
#include <redlock/node_report.hpp>
#include <redlock/options.hpp>
#include <redlock/resource_list.hpp>
#include <redlock/resource_state.hpp>
#include <redlock/stats.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <concepts>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock {

namespace detail {
using section_token = asio::use_awaitable_t<>;
}

/// Acquires, keeps and releases locks over N independent Redis masters, by the Redlock algorithm
/// (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/).
///
/// The following holds for every `async_` function; the headings of each function add to it. The
/// default completion token is `asio::deferred`, unless the function says otherwise.
///
/// **Completion.** The client posts each handler to the client's executor, which dispatches it to
/// the handler's associated executor, if it has one. No handler runs inside the function that
/// started the operation. Until it runs, the handler is stored in memory of its associated
/// allocator. All other memory of an operation comes from blocks that each thread keeps for reuse.
///
/// **Cancellation.** Terminal, partial and total cancellation through the handler's cancellation
/// slot, and `cancel()`, have the same effect: the operation completes with
/// `asio::error::operation_aborted`, or as usual if its outcome was decided before.
///
/// **Errors.** `errc::client_closed` if the client is closed before or during the operation, was
/// moved from, was inherited from a parent process, or has lost its execution context.
///
/// **Fork.** In a child process a client that the parent made is closed, its leases are over, and
/// destructors do nothing; the parent's client and leases are not touched. A child that runs the
/// inherited context calls `context.notify_fork(execution_context::fork_child)` first, as Asio
/// wants it: that lets go of the connections, and destroys the handlers of what was under way.
///
/// **Thread safety.** Any thread may call any member at any time; the client works on a strand of
/// its own. Only moving, assigning and destroying a client exclude all other calls to it.
///
/// **Lifetime.** The constructor opens the connections. They stay open, so `io_context::run()`
/// returns only after the client is closed. The execution context may be destroyed before the
/// client, while no other thread calls the client; the handlers that were not called are then
/// destroyed, as Asio does. An operation that is started after that, or on a client that was moved
/// from, completes with `errc::client_closed` on the handler's own executor or, if the handler has
/// none, on a thread of Asio's system executor.
class REDLOCK_EXPORT client {
public:
    using executor_type = boost::asio::any_io_executor;

    /// Starts to connect.
    ///
    /// **Errors.** Throws `std::invalid_argument` if an option is wrong, with a text that names
    /// every wrong one, and `boost::system::system_error` if the system has no file descriptor for
    /// the client's timer.
    client(boost::asio::any_io_executor executor, client_options options);
    template <std::derived_from<boost::asio::execution_context> Context>
    client(Context& context, client_options options)
        : client(context.get_executor(), std::move(options)) {}
    /// As above, with the options of the configuration `file`: see `load_options`. Throws
    /// `std::invalid_argument` with `config_error::message()` if it can't be used.
    client(boost::asio::any_io_executor executor, const std::filesystem::path& file)
        : client(std::move(executor), load_options(file).value()) {}
    template <std::derived_from<boost::asio::execution_context> Context>
    client(Context& context, const std::filesystem::path& file)
        : client(context.get_executor(), file) {}
    /// Calls `close()`.
    ~client();
    client(client&& other) noexcept;
    client& operator=(client&& other) noexcept;

    /// Ends every operation with `errc::client_closed`, ends every lease, and releases their keys.
    /// Returns at once. A second call has no effect.
    ///
    /// **Leaves behind.** The connections stay open until the nodes have answered the releases.
    /// The client gives up a node that has answered nothing for `node_timeout`, and every node
    /// after `ttl_max`, when all keys have expired. For each node that it gives up, an event
    /// (`event_kind::releases_given_up`) says how many releases that node had not answered.
    void close() noexcept;

    /// Calls `close()`, and completes when the last connection is closed. The client may be
    /// destroyed before that.
    ///
    /// **Completion.** Success: at least a quorum of nodes answered every release; on the other
    /// nodes, which events name, keys may remain until their ttl ends. A further call completes
    /// together with the first, or at once, with the same outcome. On a client that was moved from
    /// it succeeds.
    /// **Cancellation.** The client goes on closing in the background.
    /// **Errors.** `no_quorum`: fewer nodes answered every release; locks may stay taken until the
    /// ttl of their keys ends. `client_closed` only if the execution context was destroyed.
    template <detail::token_for<void(error_code)> T = detail::default_token>
    auto async_close(T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code)>(
            detail::initiate<&detail::start_close>{impl_}, token);
    }

    /// Cancels every operation that was started earlier, as a cancellation slot does.
    ///
    /// **Leaves behind.** What each operation leaves when it is cancelled. Leases, their renewal
    /// and the connections stay.
    void cancel();

    /// Empty if the client was moved from or its execution context was destroyed.
    executor_type get_executor() const noexcept;

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
    template <detail::token_for<void(error_code, lease)> T = detail::default_token>
    auto async_acquire(std::string resource, acquire_options options, T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, lease)>(
            detail::initiate<&detail::start_acquire>{impl_}, token, std::move(resource),
            detail::kept_options(options));
    }
    template <detail::token_for<void(error_code, lease)> T = detail::default_token>
    auto async_acquire(std::string resource, T&& token = T{}) {
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
    /// **Preconditions.** `validate_resources` and `validate` find no error; `mode` is exclusive, and
    /// `slots` is 0. An `owner` that is given holds or acquires none of the resources elsewhere in
    /// this client. Otherwise the error is `invalid_argument`, and nothing is sent.
    /// **Completion, leaves behind, errors.** As `async_acquire`. A vote that is `held` names the
    /// resource that is held for longest on that node, one that is `queued` the first that others
    /// wait for.
    template <detail::token_for<void(error_code, lease)> T = detail::default_token>
    auto async_acquire_all(resource_list resources, acquire_options options, T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, lease)>(
            detail::initiate<&detail::start_acquire_all>{impl_}, token, std::move(resources),
            detail::kept_options(options));
    }
    template <detail::token_for<void(error_code, lease)> T = detail::default_token>
    auto async_acquire_all(resource_list resources, T&& token = T{}) {
        return async_acquire_all(std::move(resources), acquire_options{}, std::forward<T>(token));
    }

    /// Takes over a lease that another process acquired, by its `lease::token()`, so that this
    /// process can prolong and release it. Prolongs the keys to `ttl` from now where they still are
    /// the lease's, and never makes them expire earlier. The lease is valid only as far as a quorum
    /// proves by that: for `ttl` from the sending of this request, less the drift allowance.
    ///
    /// The lease has the owner and the fence that it had. The process that acquired it should
    /// `lease::detach()` it: as long as it holds the lease, it renews and releases it, too. Once one of
    /// them has released it, it is lost as `taken` for the others at their next renewal.
    ///
    /// **Preconditions.** The token is whole, and comes from a client of the same nodes, with the
    /// same `key_prefix` and `fencing`. `validate` finds no error in `options`; `ttl`, `renew`, `max_hold`,
    /// `loss_margin`, `watchdog` and `note` count. The note takes the place of the lease's; if empty that
    /// stays, and a lease without one takes none. Otherwise: `invalid_argument`, and nothing is sent.
    /// **Completion.** As soon as the nodes' answers decide. The client then renews the lease, as
    /// after an acquire.
    /// **Leaves behind.** After `not_held`: nothing of the lease; what is left of its keys is released,
    /// or kept for the rest of `min_hold`. After another error, or a cancellation: keys that may have
    /// been prolonged. A key that is gone, or another holder's, is not touched.
    /// **Errors.** `not_held`: a quorum says that the keys are not the lease's any more, or a node that
    /// it was released. `no_quorum`: too few nodes could vote. `validity_exhausted`: the answers
    /// came too late for this ttl. The lease is then empty; its `votes()` give the reason node by
    /// node.
    template <detail::token_for<void(error_code, lease)> T = detail::default_token>
    auto async_adopt(std::string token, acquire_options options, T&& completion = T{}) {
        return boost::asio::async_initiate<T, void(error_code, lease)>(
            detail::initiate<&detail::start_adopt>{impl_}, completion, std::move(token),
            detail::kept_options(options));
    }
    template <detail::token_for<void(error_code, lease)> T = detail::default_token>
    auto async_adopt(std::string token, T&& completion = T{}) {
        return async_adopt(std::move(token), acquire_options{}, std::forward<T>(completion));
    }

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
    template <detail::token_for<void(error_code)> T = detail::default_token>
    auto async_extend(const lease& held, std::chrono::milliseconds ttl, T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code)>(
            detail::initiate<&detail::start_extend>{impl_}, token, held.state(), ttl);
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
    template <detail::token_for<void(error_code)> T = detail::default_token>
    auto async_downgrade(const lease& held, T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code)>(
            detail::initiate<&detail::start_downgrade>{impl_}, token, held.state());
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
    /// ends. Of a lease that was adopted, or whose `token()` was called, each node notes for `ttl_max`
    /// that it was released: no other program that has the token takes the key again.
    /// **Errors.** `not_held`: a quorum says that the key was not this lease's any more.
    /// `no_quorum`: too few nodes answered. `lost`: the lease was lost before; its keys are
    /// deleted all the same.
    template <detail::token_for<void(error_code)> T = detail::default_token>
    auto async_release(lease held, T&& token = T{}) {
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
    template <detail::token_for<void(error_code, loss)> T = detail::default_token>
    auto async_lost(const lease& held, T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, loss)>(
            detail::initiate<&detail::start_lost>{impl_}, token, held.state());
    }

    /// Acquires `resource`, runs `f(lease, lost)`, a function or a coroutine, and releases the lease,
    /// however `f` ends. `async_with_lock.hpp`, where these are defined, says what `f` may be and
    /// what they complete with. The default completion token is `asio::use_awaitable`. Without
    /// options: those of `acquire_options{}`.
    template <detail::section_function F, class T = detail::section_token>
    auto async_with_lock(std::string resource, acquire_options options, F&& f, T&& token = T{});
    template <detail::section_function F, class T = detail::section_token>
    auto async_with_lock(std::string resource, F&& f, T&& token = T{});
    /// The same of several resources at once: see `async_acquire_all`.
    template <detail::section_function F, class T = detail::section_token>
    auto async_with_lock(resource_list resources, acquire_options options, F&& f,
                         T&& token = T{});

    /// Reads from every node which owner holds `resource`. Takes no lock.
    ///
    /// **Preconditions.** `validate_resource` accepts `resource`. Otherwise the error is
    /// `invalid_argument`, and nothing is sent.
    /// **Completion.** When every node has answered or failed. Nodes that are down are no error:
    /// the state says node by node what is known.
    /// **Leaves behind.** Nothing, also when cancelled.
    template <detail::token_for<void(error_code, resource_state)> T = detail::default_token>
    auto async_inspect(std::string resource, T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, resource_state)>(
            detail::initiate<&detail::start_inspect>{impl_}, token, std::move(resource));
    }

    /// Completes when `resource` has changed hands compared with `last`, with its state: it is taken,
    /// free or kept, another owner holds it, readers share it, another reader does or one does no
    /// more, or one of its slots has another holder or none. That a lease was extended is no change,
    /// nor is what else differs in a state. `last` is what the caller knows, as this function or
    /// `async_inspect` completed with it, so a change between two calls is not missed: it completes
    /// at once then. Several changes may be reported as one; the state is always the latest.
    ///
    /// Without `last`, or with one that was not `decided`, it completes with the first state that
    /// is certain. A state is certain if no node whose answer is missing, or that has no vote, could
    /// change the holders. While too few nodes answer for that, the watch goes on.
    ///
    /// While anything is watched the client looks at all that it watches together, every 75 to 125
    /// ms: one short script on each node for each 64 resources. With more than 1,250 resources it
    /// takes more time, 80 us for each. So a change is reported after at most that time and two
    /// round trips, and a change by this client itself after one. A node that begins to hang may
    /// delay that once by a `node_timeout`. Watchers of one resource share all requests.
    ///
    /// `last` is copied during the call. It can't be a temporary: g++ 12 destroys one twice if it
    /// stands in a `co_await` expression.
    ///
    /// **Preconditions.** `validate_resource` accepts `resource`. Otherwise the error is
    /// `invalid_argument`, and nothing is sent.
    /// **Completion.** At a change, however late that is: nothing else ends it but a cancellation.
    /// **Leaves behind.** Nothing, also when cancelled. It takes no lock and no place in a queue.
    template <detail::token_for<void(error_code, resource_state)> T = detail::default_token>
    auto async_watch(std::string resource, const resource_state& last, T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, resource_state)>(
            detail::initiate<&detail::start_watch>{impl_}, token, std::move(resource), last);
    }
    template <detail::token_for<void(error_code, resource_state)> T = detail::default_token>
    auto async_watch(std::string resource, T&& token = T{}) {
        const resource_state nothing;
        return async_watch(std::move(resource), nothing, std::forward<T>(token));
    }
    template <class T = detail::default_token>
    auto async_watch(std::string resource, resource_state&& last, T&& token = T{}) = delete;

    /// Names the resources that begin with `prefix`, and of which one of a quorum of nodes has the
    /// key, in alphabetical order: those that are held, by leases or by other programs' locks, and
    /// keys of other kinds that have the same form. `async_inspect` tells which.
    ///
    /// The nodes look at all their keys for that, page by page (SCAN), for about 1 s of their time
    /// per million: not for a program that does it often. The user needs the right `+scan`.
    ///
    /// **Completion.** When a quorum of nodes has named all, or too many failed.
    /// **Leaves behind.** Nothing.
    /// **Errors.** `no_quorum`: fewer than a quorum of nodes named all. `backlog`: there are more
    /// than 1,000,000.
    template <detail::token_for<void(error_code, std::vector<std::string>)> T =
                  detail::default_token>
    auto async_list(std::string prefix, T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, std::vector<std::string>)>(
            detail::initiate<&detail::start_list>{impl_}, token, std::move(prefix));
    }

    /// Revokes the leases of a resource, as an operator does when a program hangs. The owners,
    /// readers and slots that `shown` names lose their keys on every node; `shown` is what
    /// `async_inspect` completed with. A holder that acquired the resource after that keeps it.
    ///
    /// A holder whose lease is revoked relies on it until its next renewal, at the latest a ttl
    /// later. Until then it and the next holder may both be at work, and only the fence tells them
    /// apart. The revoked lease is then lost as `taken`, and no renewal can take its key again.
    /// With `fencing` off a key is only deleted.
    ///
    /// **Preconditions.** None of `shown`: names that hold nothing any more are passed over.
    /// **Completion.** When every node has answered, or failed.
    /// **Cancellation.** Nothing, or any part of it, was done.
    /// **Leaves behind.** On each node whose vote is granted: the keys are gone, and the next waiter
    /// is woken; the fence is raised; the revoked values are noted for `ttl_max`.
    /// **Errors.** `no_quorum`: fewer than a quorum of nodes did it; the holders may still have
    /// their lease, and the call may be repeated. `invalid_argument`: the resource can't be one.
    template <detail::token_for<void(error_code, revocation)> T = detail::default_token>
    auto async_revoke(const resource_state& shown, T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, revocation)>(
            detail::initiate<&detail::start_revoke>{impl_}, token, shown);
    }

    /// Asks every node for what an operator should know of it: whether it votes, how it keeps its
    /// data, its clock, its memory, the rights of this user. `node_report::findings` names what is
    /// wrong, and what to do about it. It tries what a lock needs: it writes and deletes a key of its
    /// own, `redlock:probe` behind the key prefix.
    ///
    /// **Completion.** When every node has answered or failed: within two `connect_timeout` and
    /// one `node_timeout`. One report per node, in the order of the options; nodes that are down
    /// are no error.
    /// **Leaves behind.** Nothing on the nodes; for a user that may not delete, that key for a
    /// second. With `fencing` on the client listens to the nodes for half a minute, as after a wait.
    template <detail::token_for<void(error_code, std::vector<node_report>)> T =
                  detail::default_token>
    auto async_probe(T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, std::vector<node_report>)>(
            detail::initiate<&detail::start_probe>{impl_}, token);
    }

    /// Declares that no lease granted earlier is still valid, so that the nodes vote at once. An
    /// operator needs it, for instance, when a node is missing at a cluster's first start.
    ///
    /// **Preconditions.** No program holds a lock on these nodes. Only an operator can know this.
    /// If it is wrong, two clients can hold the same lock. `fencing` and `restart_guard` are on;
    /// otherwise no node is ever in quarantine, and the error is `invalid_argument`. So it is with a
    /// joint list: a change is ended by `async_commit`.
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
    template <detail::token_for<void(error_code, std::vector<node_vote>)> T = detail::default_token>
    auto async_init(T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, std::vector<node_vote>)>(
            detail::initiate<&detail::start_init>{impl_}, token);
    }

    /// Ends a change of the list of nodes while locks are held: from then on the new list stands, and
    /// programs with the new list alone may be started. Every program should have the joint list by
    /// then: one that still has the old list gets no lock any more. The nodes of the old list are
    /// closed for all other programs first; when a majority of them is, each node is given the new
    /// list. Leases by the joint list go on.
    ///
    /// With `gives_up` the old list stands in the end; that is needed where a node is closed already.
    /// Two operators at once agree: the change that a majority was closed for is the one that stands.
    ///
    /// **Preconditions.** The list is a joint one, `fencing` and `restart_guard` are on; otherwise
    /// the error is `invalid_argument`.
    /// **Completion.** Success: the list that was wanted stands on a majority of the old and of the
    /// new list. `votes` names the nodes that have still to follow; programs that have met the others
    /// turn them.
    /// **Cancellation.** Nothing, or any part of it, was done; what was closed stays closed.
    /// **Leaves behind.** Repeating it is harmless, and goes on where it ended.
    /// **Errors.** `other_set`: programs with another list are connected, or can't be seen
    /// (`old_programs`, `detail`); nothing was done. Or another change won: `detail` says which.
    /// `no_quorum`: no majority was closed, or none was written. `in_quarantine`: an earlier change is
    /// too recent; `nodes` say for how long.
    template <detail::token_for<void(error_code, commit_report)> T = detail::default_token>
    auto async_commit(const commit_options& how, T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, commit_report)>(
            detail::initiate<&detail::start_commit>{impl_}, token, how);
    }
    template <detail::token_for<void(error_code, commit_report)> T = detail::default_token>
    auto async_commit(T&& token = T{}) {
        const commit_options usual;
        return async_commit(usual, std::forward<T>(token));
    }

    /// Counters since the client was constructed.
    client_stats stats() const;

    /// @internal
    const std::shared_ptr<detail::client_impl>& impl() const noexcept { return impl_; }

private:
    std::shared_ptr<detail::client_impl> impl_;
};

}  // namespace redlock

#include <redlock/async_with_lock.hpp>

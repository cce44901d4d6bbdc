// The blocking client: the same locks for programs without an event loop; shows no Asio.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/config.hpp>
#include <redlock/export.hpp>
#include <redlock/lease.hpp>
#include <redlock/node_report.hpp>
#include <redlock/options.hpp>
#include <redlock/refusal.hpp>
#include <redlock/resource_list.hpp>
#include <redlock/resource_state.hpp>
#include <redlock/result.hpp>
#include <redlock/run_record.hpp>
#include <redlock/stats.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace redlock {

namespace detail {
struct blocking_access;
}

/// Acquires, keeps and releases locks over N independent Redis masters. Each call blocks the
/// thread that makes it.
///
/// The client owns one thread, which renews leases and reports losses. Preconditions, outcomes,
/// errors, and what each call leaves behind on the nodes are those of the function of the same
/// name in `client`; what differs is said here.
///
/// **Fork.** In a child process a client that the parent made is closed: each call ends at once
/// with `client_closed`, leases are over, and destructors do nothing; a program that forks makes
/// its client in the child. The parent's client and leases are not touched. The child keeps the
/// sockets of the parent open until it ends, or executes a program.
/// **Thread safety.** Any thread may call any member at any time. Only moving, assigning and
/// destroying the client exclude all other calls to it.
/// **Errors.** `would_deadlock`: the call came from the client's own thread, that is, from a
/// callback of `lost_token()` or `on_event`; the call would wait for itself.
/// `client_closed`: the client was closed before or during the call, moved from, or inherited from
/// a parent process.
class REDLOCK_EXPORT blocking_client {
public:
    /// Starts to connect.
    ///
    /// **Errors.** Throws `std::invalid_argument` if an option is wrong, with a text that names
    /// every wrong one, and `std::system_error` if the system has no thread or file descriptor
    /// for the client.
    explicit blocking_client(client_options options);
    /// As above, with the options of the configuration `file`: see `load_options`. Throws
    /// `std::invalid_argument` with `config_error::message()` if it can't be used.
    explicit blocking_client(const std::filesystem::path& file)
        : blocking_client(load_options(file).value()) {}
    /// Closes the client and waits as `close()` does; longer only if the system's resolver is
    /// still looking up a node's name.
    ///
    /// **Preconditions.** No thread is inside a call, and this is not the client's own thread.
    ~blocking_client();
    blocking_client(blocking_client&&) noexcept;
    blocking_client& operator=(blocking_client&&) noexcept;

    /// Blocks until the lease is granted or refused, `options.wait` is over, or `stop` is
    /// requested. See `client::async_acquire`.
    ///
    /// **Cancellation.** By `stop`: the error is `boost::asio::error::operation_aborted`. A stop
    /// that is requested after the grant has no effect.
    /// **Errors.** The refusal carries one vote per node.
    [[nodiscard]] result<lease, refusal> acquire(std::string resource,
                                                 acquire_options options = {},
                                                 std::stop_token stop = {});

    /// As `acquire`, of several resources at once. See `client::async_acquire_all`.
    [[nodiscard]] result<lease, refusal> acquire_all(resource_list resources,
                                                     acquire_options options = {},
                                                     std::stop_token stop = {});

    /// Takes over a lease that another process acquired. See `client::async_adopt`.
    [[nodiscard]] result<lease, refusal> adopt(std::string token, acquire_options options = {},
                                               std::stop_token stop = {});

    /// See `client::async_extend`.
    [[nodiscard]] result<void> extend(const lease& held, std::chrono::milliseconds ttl);
    /// See `client::async_downgrade`.
    [[nodiscard]] result<void> downgrade(const lease& held);
    /// See `client::async_release`. After `would_deadlock` the lease is released in the
    /// background.
    [[nodiscard]] result<void> release(lease held);
    /// See `client::async_inspect`.
    result<resource_state> inspect(std::string resource);
    /// Blocks until the resource has changed hands compared with `last`, and returns its state;
    /// with `{}` until it is known. See `client::async_watch`. A stop ends it with
    /// `boost::asio::error::operation_aborted`.
    result<resource_state> watch(std::string resource, const resource_state& last,
                                 std::stop_token stop = {});
    /// The resources that are held on a node, by a prefix and more. See `client::async_list`.
    result<std::vector<std::string>> list(list_query what = {});
    /// The runs under a resource that are on record. See `client::async_last_runs`.
    result<std::vector<run_record>> last_runs(std::string resource);
    /// Notes a run, and returns those on record. See `client::async_record_run`.
    result<std::vector<run_record>> record_run(std::string resource, const run_record& run,
                                               std::chrono::milliseconds keep);
    /// Takes a resource from those that hold it, as `inspect` showed them. See
    /// `client::async_revoke`. The refusal carries one vote per node.
    [[nodiscard]] result<revocation, refusal> revoke(const resource_state& shown);
    /// What an operator should know of each node. See `client::async_probe`.
    result<std::vector<node_report>> probe();
    /// One vote per node, also in the refusal: `granted` for each that took the declaration, which
    /// is a quorum at least unless it is refused. See `client::async_init`.
    [[nodiscard]] result<std::vector<node_vote>, refusal> init(const init_options& how = {});
    /// Ends a change of the list of nodes; `commit_report::error` says whether it did. See
    /// `client::async_commit`.
    [[nodiscard]] commit_report commit(const commit_options& how = {}, std::stop_token = {});
    /// Releases every lease, and blocks until the nodes have answered or the client has given them
    /// up. Every other call, also one that another thread is inside of, ends with `client_closed`.
    /// See `client::async_close`.
    result<void> close();
    /// Counters since the client was constructed.
    client_stats stats() const;
    /// Those that the client was constructed with, passwords included; the default ones if it was
    /// moved from.
    client_options options() const;

private:
    friend struct detail::blocking_access;
    struct worker;
    std::unique_ptr<worker> worker_;
};

}  // namespace redlock

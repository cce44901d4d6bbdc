// The asynchronous client: locks over a quorum of nodes; names no socket and no script.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/config.hpp>
#include <redlock/detail/initiate.hpp>
#include <redlock/detail/section.hpp>
#include <redlock/export.hpp>
#include <redlock/lease.hpp>
#include <redlock/list_state.hpp>
#include <redlock/loss.hpp>
#include <redlock/node_report.hpp>
#include <redlock/options.hpp>
#include <redlock/resource_list.hpp>
#include <redlock/resource_state.hpp>
#include <redlock/run_record.hpp>
#include <redlock/stats.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>

#include <chrono>
#include <concepts>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock {

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
    /// **Errors.** Throws `std::invalid_argument` if the executor is empty, or an option is wrong,
    /// with a text that names every wrong one, and `std::system_error` if the system has no file
    /// descriptor. A program that compiles Asio in another way than the library does not link.
    client(boost::asio::any_io_executor executor, client_options options)
        : client(detail::asio_build(), executor, std::move(options)) {}
    template <std::derived_from<boost::asio::execution_context> Context>
    client(Context& context, client_options options)
        : client(context.get_executor(), std::move(options)) {}
    /// As above, with the options of the configuration `file`: `load_options(file).value()`.
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
    /// after `ttl_max`, when all keys have expired; an event, `releases_given_up`, says so of each.
    void close() noexcept;

    /// Cancels every operation that was started earlier, as a cancellation slot does. Leases, their
    /// renewal and the connections stay.
    void cancel();

    /// Empty if the client was moved from or its execution context was destroyed.
    executor_type get_executor() const noexcept;

    // Acquiring: see async_acquire.hpp.
    template <detail::token_for<void(error_code, lease)> T = detail::default_token>
    [[nodiscard]] auto async_acquire(std::string resource, acquire_options options,
                                     T&& token = T{});
    template <detail::token_for<void(error_code, lease)> T = detail::default_token>
    [[nodiscard]] auto async_acquire(std::string resource, T&& token = T{});
    template <detail::token_for<void(error_code, lease)> T = detail::default_token>
    [[nodiscard]] auto async_acquire_all(resource_list resources, acquire_options options,
                                         T&& token = T{});
    template <detail::token_for<void(error_code, lease)> T = detail::default_token>
    [[nodiscard]] auto async_acquire_all(resource_list resources, T&& token = T{});
    template <detail::token_for<void(error_code, lease)> T = detail::default_token>
    [[nodiscard]] auto async_adopt(std::string token, acquire_options options,
                                   T&& completion = T{});
    template <detail::token_for<void(error_code, lease)> T = detail::default_token>
    [[nodiscard]] auto async_adopt(std::string token, T&& completion = T{});

    // What a holder does with its lease, or with all of them: see async_lease.hpp.
    template <detail::token_for<void(error_code)> T = detail::default_token>
    [[nodiscard]] auto async_extend(const lease& held, std::chrono::milliseconds ttl,
                                    T&& token = T{});
    template <detail::token_for<void(error_code)> T = detail::default_token>
    [[nodiscard]] auto async_downgrade(const lease& held, T&& token = T{});
    template <detail::token_for<void(error_code)> T = detail::default_token>
    [[nodiscard]] auto async_release(lease held, T&& token = T{});
    template <detail::token_for<void(error_code, loss)> T = detail::default_token>
    [[nodiscard]] auto async_lost(const lease& held, T&& token = T{});
    template <detail::token_for<void(error_code)> T = detail::default_token>
    [[nodiscard]] auto async_close(T&& token = T{});

    // A section under a lock as one call: see async_with_lock.hpp.
    template <detail::section_function F, class T = detail::section_token>
    [[nodiscard]] auto async_with_lock(std::string resource, acquire_options options, F&& f,
                                       T&& token = T{});
    template <detail::section_function F, class T = detail::section_token>
    [[nodiscard]] auto async_with_lock(std::string resource, F&& f, T&& token = T{});
    template <detail::section_function F, class T = detail::section_token>
    [[nodiscard]] auto async_with_lock(resource_list resources, acquire_options options, F&& f,
                                       T&& token = T{});

    // What the nodes have: see async_inspect.hpp.
    template <detail::token_for<void(error_code, resource_state)> T = detail::default_token>
    [[nodiscard]] auto async_inspect(std::string resource, T&& token = T{});
    template <detail::token_for<void(error_code, resource_state)> T = detail::default_token>
    [[nodiscard]] auto async_watch(std::string resource, const resource_state& last,
                                   T&& token = T{});
    template <detail::token_for<void(error_code, resource_state)> T = detail::default_token>
    [[nodiscard]] auto async_watch(std::string resource, T&& token = T{});
    void async_watch(std::string resource, resource_state&& last, auto&&... token) = delete;
    template <detail::token_for<void(error_code, std::vector<std::string>)> T =
                  detail::default_token>
    [[nodiscard]] auto async_list(list_query what, T&& token = T{});
    template <detail::token_for<void(error_code, std::vector<run_record>)> T =
                  detail::default_token>
    [[nodiscard]] auto async_last_runs(std::string resource, T&& token = T{});
    template <detail::token_for<void(error_code, std::vector<node_report>)> T =
                  detail::default_token>
    [[nodiscard]] auto async_probe(T&& token = T{});

    // What an operator does, or a program that runs others: see async_operate.hpp.
    template <detail::token_for<void(error_code, std::vector<run_record>)> T =
                  detail::default_token>
    [[nodiscard]] auto async_record_run(std::string resource, const run_record& run,
                                        std::chrono::milliseconds keep, T&& token = T{});
    void async_record_run(std::string resource, run_record&& run, std::chrono::milliseconds keep,
                          auto&&... token) = delete;
    template <detail::token_for<void(error_code, revocation)> T = detail::default_token>
    [[nodiscard]] auto async_revoke(const resource_state& shown, T&& token = T{});
    void async_revoke(resource_state&& shown, auto&&... token) = delete;
    template <detail::token_for<void(error_code, std::vector<node_vote>)> T = detail::default_token>
    [[nodiscard]] auto async_init(const init_options& how, T&& token = T{});
    template <detail::token_for<void(error_code, std::vector<node_vote>)> T = detail::default_token>
    [[nodiscard]] auto async_init(T&& token = T{});
    template <detail::token_for<void(error_code, commit_report)> T = detail::default_token>
    [[nodiscard]] auto async_commit(const commit_options& how, T&& token = T{});
    template <detail::token_for<void(error_code, commit_report)> T = detail::default_token>
    [[nodiscard]] auto async_commit(T&& token = T{});

    /// Counters since the client was constructed.
    client_stats stats() const;

private:
    friend struct detail::access;
    client(detail::asio_build, const executor_type& executor, client_options options);

    std::shared_ptr<detail::client_impl> impl_;
};

}  // namespace redlock

#include <redlock/async_acquire.hpp>
#include <redlock/async_inspect.hpp>
#include <redlock/async_lease.hpp>
#include <redlock/async_operate.hpp>
#include <redlock/async_with_lock.hpp>

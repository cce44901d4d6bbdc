// The Asio side of a client: strand, sockets, alarm and handlers performed for the engine.
// SPDX-License-Identifier: MIT
#pragma once

#include "asio/performers.hpp"
#include "asio/transport.hpp"
#include "client/context.hpp"
#include "client/engine.hpp"
#include "client/lease.hpp"
#include "value/clock.hpp"

#include <redlock/options.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

namespace redlock::detail {

class client_impl;

/// Ends the clients of an execution context that is destroyed before them: completion handlers may
/// own the very client that owns them, and only the context can cut that knot.
class client_service final : public boost::asio::execution_context::service {
public:
    static inline boost::asio::execution_context::id id;

    // Public: newer Asio constructs services through an allocator, which an inherited constructor,
    // protected as the base's is, does not let in.
    explicit client_service(boost::asio::execution_context& owner) : service(owner) {}
    void add(client_impl& c);
    void remove(client_impl& c) noexcept;

private:
    void shutdown() override;
    void notify_fork(boost::asio::execution_context::fork_event event) override;

    std::mutex mutex_;
    std::list<client_impl*> clients_;
};

class client_impl final : public std::enable_shared_from_this<client_impl>,
                          public lease_home,
                          private engine_host,
                          private wire_owner {
public:
    /// `options` are valid. Made by `make`, which also starts it.
    client_impl(const boost::asio::any_io_executor& executor, client_options options);
    ~client_impl() override;
    static std::shared_ptr<client_impl> make(const boost::asio::any_io_executor& executor,
                                             client_options options);

    /// Whether this is a child process of the one that made it: nothing of it may be used here.
    bool is_inherited() const noexcept { return !born_.is_here(); }
    /// Whether the execution context was destroyed: nothing of it may be touched any more.
    bool has_lost_context() const noexcept { return io_ == nullptr; }
    /// Empty once the context is lost.
    boost::asio::any_io_executor executor() const noexcept;
    client_stats stats() const { return engine_->stats(clock::now()); }
    /// Other threads read what never changes of them: not `nodes`.
    const client_options& options() const noexcept { return options_; }

    void put(mail& m) noexcept override;
    void close() noexcept;
    /// From any thread. Cancels the operations that were put earlier.
    void cancel();
    /// The execution context is being destroyed.
    void discard() noexcept;
    /// In a child process whose program goes on to run the context: lets go of the parent's
    /// connections without a word to the nodes, and of all that was under way.
    void abandon() noexcept;
    /// On the strand.
    void begin(operation_ptr what) { engine_->begin(std::move(what), clock::now()); }

    void part(std::shared_ptr<lease_state> state, farewell::kind what) noexcept override;
    /// As `part`, of a lease that its holder has surrendered.
    void send_farewell(std::shared_ptr<lease_state> state, farewell::kind what) noexcept;
    void on_farewell(lease_state& state, farewell::kind what) override;

private:
    class closing final : public mail {
    public:
        explicit closing(client_impl& c) : client_(&c) {}
        void deliver() override { client_->engine_->close(clock::now()); }
        void discard() noexcept override {}

    private:
        client_impl* client_;
    };

    /// What may not outlive the execution context.
    struct performers {
        explicit performers(const boost::asio::any_io_executor& executor)
            : strand(io_executor::over(executor)) {}

        io_strand strand;
        std::unique_ptr<alarm_performer> alarm;
        std::vector<std::unique_ptr<wire_performer>> wires;
    };

    std::uint64_t random_word() override { return random_(); }
    owner_id fresh_owner() override { return owner_id::random(); }
    transport& wire(std::size_t index) override { return *io_->wires[index]; }
    std::shared_ptr<lease_home> home() override { return weak_from_this().lock(); }
    std::shared_ptr<wire_owner> keep_alive() noexcept override;
    connection& user_of(std::size_t index) override { return engine_->connection_at(index); }
    void end_turn() override;
    void make_performers();
    void start();

    // Both null once the execution context is gone. No executor is kept besides: destroying a
    // strand touches its context. The strand and the sockets are made before the service, since a
    // context shuts its latest service down first, and tells it last of a fork: other threads may
    // post until `discard`, but not to a strand that Asio shuts down; and `abandon` needs the
    // child's own reactor.
    std::unique_ptr<performers> io_;
    client_service* service_;
    const birthplace born_;
    client_options options_;  // on the strand, where a connection reads its password again
    std::mt19937_64 random_;
    mailbox mailbox_;
    closing closing_{*this};
    std::once_flag closed_;
    traffic traffic_;
    std::unique_ptr<engine> engine_;
};

}  // namespace redlock::detail

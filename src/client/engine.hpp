// The coordinator: operations, leases and nodes put together; touches no socket, clock or thread.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/call.hpp"
#include "client/connection.hpp"
#include "client/context.hpp"
#include "client/extend.hpp"
#include "client/lease.hpp"
#include "client/listener.hpp"
#include "client/node_tracker.hpp"
#include "client/remote_queue.hpp"
#include "client/session.hpp"
#include "client/survey.hpp"
#include "client/watch.hpp"
#include "core/connection.hpp"

#include <redlock/options.hpp>
#include <redlock/stats.hpp>

#include <boost/intrusive/list.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// One for commands and one to listen on.
inline constexpr std::size_t connections_per_node = 2;

/// What the engine needs from its environment.
class engine_host : public random_source {
public:
    /// Of N nodes' commands the first N, of what is listened to on them the next N.
    virtual transport& wire(std::size_t index) = 0;
    virtual std::shared_ptr<lease_home> home() = 0;

protected:
    ~engine_host() = default;
};

/// Not thread-safe: everything happens on one strand, or in one simulated client.
class engine final : private operation_host,
                     private session_owner,
                     private listener_owner,
                     private tracker_owner {
public:
    /// `options` are valid and their client_name is set; all three outlive the engine.
    engine(const client_options& options, engine_host& host, traffic& traffic);
    ~engine();
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;

    void start(time_point now);
    void begin(operation_ptr what, time_point now) override;
    /// Ends all operations and leases; releases what is held. A connection lingers until the node
    /// has answered everything, or nothing for node_timeout; at most for ttl_max, when every key
    /// has expired. An event says what is given up then.
    void close(time_point now) override;
    /// Ends the operations that callers wait for. Leases and their renewal stay.
    void cancel(error_code why, time_point now);
    /// Hands to the nodes what came of the facts of this turn: called once after all of them, and
    /// before anything is written.
    void end_turn(time_point now);
    /// While closing: whether the last releases are answered, or given up, is looked at here.
    void end_if_idle(time_point now);
    bool is_over() const noexcept { return phase_ == phase::over; }
    /// The execution context is gone: drops everything without a completion.
    void discard() noexcept;

    void on_time(time_point now);
    time_point deadline() noexcept;
    session& node(std::size_t i) noexcept { return sessions_[i]; }
    /// Whose bytes the host's wire of that index carries.
    connection& connection_at(std::size_t index) noexcept;
    std::size_t size() const noexcept { return sessions_.size(); }

    void give_back(lease_state& state, time_point now) override;
    void let_go(lease_state& state, time_point now) override;

    client_parts& parts() noexcept { return parts_; }
    node_listeners& listeners() noexcept { return listeners_; }
    /// On the rounds of renewals that are under way.
    core::window& renewal_window() noexcept { return renewals_.window(); }
    /// From any thread. `now`: when the nodes are to have a vote.
    client_stats stats(time_point now = time_point::max()) const {
        return read_stats(shared_.counts(), *traffic_, shared_.options(), now);
    }

private:
    enum class phase : std::uint8_t {
        open,
        closing,    ///< Takes no more operations; the last releases are being handed to the nodes.
        lingering,  ///< Awaits the answers to them.
        over
    };

    // For operations and leases.
    void finished(operation& what) noexcept override;
    void await_settled(operation& what, time_point now) override;
    void await_closed(operation& what) override;
    void adopt(held_lease_ptr what) override;
    std::shared_ptr<lease_home> home() const override { return host_->home(); }
    void renew(held_lease& what) override { renewals_.add(what); }
    void free_line(held_lease& what) noexcept override;
    void forget(held_lease& what) noexcept override;
    void release_in_background(footprint what, bool waits_on, time_point now) override;

    // From the sessions, the listeners and the tracker.
    std::uint64_t random_word() override { return host_->random_word(); }
    const core::own_delay& own_delay() const noexcept override { return shared_.own_delay(); }
    core::record_terms record_terms(std::size_t node) override {
        return tracker_.greeting_terms(node);
    }
    void on_greeted(std::size_t node, const greeting& facts, time_point began,
                    time_point now) override;
    void on_node_up(std::size_t node, duration took, time_point now) override;
    void on_node_down(std::size_t node, const wire::failure& why, time_point now) override;
    void on_release_owed(std::size_t node) override;
    core::fence_limits limits_of_fences() override { return tracker_.known().limits_of_fences(); }
    void on_listening(std::size_t node, time_point now) override;
    void on_deaf(std::size_t node, const wire::failure& why, time_point now) override;
    void on_message(std::size_t node, std::string_view payload, time_point now) override;
    void on_settled(time_point now) override;
    void on_clock_gap(duration gap, time_point now) override;

    void enlist(operation& what);
    void drop_finished() noexcept;
    void begin_to_linger(time_point now);
    void on_close_timer(time_point now);
    time_point answer_due(const session& node) const noexcept;
    void end(time_point now);

    engine_host* host_;
    traffic* traffic_;
    context shared_;
    std::string channel_;  // that is listened to, on every node
    node_sessions sessions_;
    node_listeners listeners_;
    std::array<core::outage, max_nodes> outages_;
    using operation_list = boost::intrusive::list<
        operation, boost::intrusive::member_hook<operation, list_hook, &operation::listed_>,
        boost::intrusive::constant_time_size<false>>;
    operation_list operations_;
    operation_list await_end_;  // those that wait until the client is closed
    operation_list finished_;   // in this turn
    using lease_list = boost::intrusive::list<
        held_lease, boost::intrusive::member_hook<held_lease, list_hook, &held_lease::listed_>,
        boost::intrusive::constant_time_size<false>>;
    lease_list held_leases_;
    lease_list ended_leases_;  // in this turn
    owner_claims owners_;
    std::vector<operation_ptr> unsettled_;  // that wait until it is known which nodes may vote
    renewals renewals_;
    node_tracker tracker_;
    core::local_queues local_;
    remote_queue remote_;
    core::admission admission_;
    client_parts parts_;
    watches watched_;
    alarm<engine> close_timer_{*this, &engine::on_close_timer};
    time_point answers_awaited_from_{};  // a node has node_timeout from then on
    time_point linger_until_{};          // when every key has expired
    time_point close_timer_at_{};
    time_point silence_checked_at_ = time_point::min();  // when `close_timer_` last rang
    phase phase_ = phase::open;
    error_code closed_as_;
};

}  // namespace redlock::detail

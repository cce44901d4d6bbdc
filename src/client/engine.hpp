// The coordinator: operations, leases and nodes put together; touches no socket, clock or thread.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/call.hpp"
#include "client/connection.hpp"
#include "client/counters.hpp"
#include "client/held_lease.hpp"
#include "client/lease_state.hpp"
#include "client/listener.hpp"
#include "client/node_tracker.hpp"
#include "client/operation.hpp"
#include "client/owner_claims.hpp"
#include "client/remote_queue.hpp"
#include "client/session.hpp"
#include "client/timers.hpp"
#include "core/load/admission.hpp"
#include "core/load/window.hpp"

#include <redlock/event.hpp>
#include <redlock/options.hpp>
#include <redlock/stats.hpp>

#include <boost/intrusive/list.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// One for commands and one to listen on.
inline constexpr std::size_t connections_per_node = 2;

/// What the engine needs from whoever performs.
class engine_host {
public:
    virtual std::uint64_t random_word() = 0;
    virtual owner_id fresh_owner() = 0;
    /// Of N nodes' commands the first N, of what is listened to on them the next N.
    virtual transport& wire(std::size_t index) = 0;
    virtual std::shared_ptr<lease_home> home() = 0;

protected:
    ~engine_host() = default;
};

/// Counts of operations; `net::traffic` counts what they cost.
struct tallies {
    counter granted, contended, no_quorum, validity_exhausted, cancelled, retries,
        second_rounds, released, lost, renewals, renewal_failures, begun_leases, ended_leases;
};

/// Not thread-safe: everything happens on one strand, or in one simulated client.
class engine final : private session_owner, private listener_owner {
public:
    /// `options` are valid and their client_name is set; all three outlive the engine.
    engine(const client_options& options, engine_host& host, traffic& traffic);
    ~engine();
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;

    void start(time_point now);
    void begin(operation_ptr what, time_point now);
    /// The engine forgets it. Called before the completion is handed over, which may throw where
    /// memory is short.
    void finished(operation& what) noexcept;
    /// Ends all operations and leases; releases what is held. A connection lingers until the node
    /// has answered everything, or nothing for node_timeout; at most for ttl_max, when every key
    /// has expired. An event says what is given up then.
    void close(time_point now);
    /// Ends the operations that callers wait for. Leases and their renewal stay.
    void cancel(error_code why, time_point now);
    /// Calls `what.on_closed` when the client is closed, at once if it is. Until then closing does
    /// not end `what`.
    void await_closed(operation& what);
    /// What came of the facts of this turn is handed to the nodes: called once they all were told,
    /// and before anything is written.
    void end_turn(time_point now);
    /// While closing: whether the last releases are answered, or given up, is looked at here.
    void end_if_idle(time_point now);
    bool is_over() const noexcept { return over_; }
    /// The execution context is gone: drops everything, tells nobody.
    void discard() noexcept;

    void on_time(time_point now);
    time_point deadline() const noexcept;
    session& node(std::size_t i) noexcept { return *sessions_[i]; }
    /// Whose bytes the host's wire of that index carries.
    connection& connection_at(std::size_t index) noexcept;
    std::size_t size() const noexcept { return sessions_.size(); }

    /// Gives a lease back in the background, or lets it run out.
    void give_back(lease_state& state, time_point now);
    void let_go(lease_state& state, time_point now);

    /// From now on every node is listened to, as far as it can be reached.
    void listen(time_point now);
    void stop_listening();
    bool is_listening(std::size_t node) const noexcept { return listeners_[node]->is_listening(); }
    /// What others name to wake this client: drawn once, the last part of its channel's name.
    std::string_view client_id() const noexcept { return client_id_; }

    // For operations.
    struct fan_out {
        node_mask sent = 0;
        std::vector<std::pair<std::size_t, wire::failure>> failures;
    };
    /// Hands a command to the nodes of `mask`. The failures are for the caller to count, after it
    /// has noted what was sent.
    fan_out send(call& what, std::uint32_t round, std::string_view wire, wire::tail end,
                 time_point now, node_mask mask = all_nodes);
    /// An empty buffer to format one command in, before it is sent: each that is asked for ends the
    /// one before.
    std::string& blank() noexcept {
        blank_.clear();
        return blank_;
    }
    /// Removes what an attempt or a lease left on the nodes; nobody waits for the answers. With
    /// `waits_on` its place in line is kept.
    void release_in_background(footprint what, bool waits_on, time_point now);
    /// Calls `on_settled` once who may vote is known: at once, or when it is.
    void await_settled(operation& what, time_point now);
    /// It is due for renewal: goes with others that are, at the end of this turn or when fewer
    /// renewals are under way, before all that have more time.
    void renew(held_lease& what);
    core::window& renewals() noexcept { return renewals_; }
    void adopt(held_lease_ptr what);
    void forget(held_lease& what) noexcept;
    void arm(timer& what, time_point when) noexcept { timers_.set(what, when); }
    owner_claims& owners() noexcept { return owners_; }
    void emit(const event& e) const;

    const client_options& options() const noexcept { return *options_; }
    drift_policy drift() const noexcept;
    const node_name& name(std::size_t node) const noexcept { return names_[node]; }
    engine_host& host() const noexcept { return *host_; }
    node_tracker& nodes() noexcept { return *tracker_; }
    remote_queue& waiting() noexcept { return remote_queue_; }
    core::admission& admission() noexcept { return admission_; }
    tallies& counts() noexcept { return counts_; }
    client_stats stats() const noexcept;  ///< From any thread.
    /// In what time so many nodes have answered one command, if they ever do: the longest time-out
    /// of those that have the shortest. Of all nodes, it bounds how long an operation waits for
    /// them; of a quorum, it is what the windows on the load go by.
    duration time_for(std::size_t nodes) const noexcept;

private:
    struct close_timer final : timer {
        explicit close_timer(engine& e) : engine_(&e) {}
        void on_due(time_point now) override { engine_->on_close_timer(now); }
        engine* engine_;
    };

    std::uint64_t random_word() override { return host_->random_word(); }
    wire::record_request record_wanted() override { return tracker_->record_wanted(); }
    void on_greeted(std::size_t node, const greeting& told, time_point began,
                    time_point now) override;
    void on_node_up(std::size_t node, duration took, time_point now) override;
    void on_node_down(std::size_t node, const wire::failure& why, time_point now) override;
    void on_release_owed(std::size_t node) override;
    void on_listening(std::size_t node, time_point now) override;
    void on_deaf(std::size_t node, const wire::failure& why, time_point now) override;
    void on_message(std::size_t node, std::string_view payload, time_point now) override;
    friend class node_tracker;
    void on_settled(time_point now);
    /// Our own clock stood still for `gap`, at most: every validity ends earlier by it.
    void on_clock_gap(duration gap, time_point now);
    void renew_due(time_point now);
    void enlist(operation& what);
    void begin_to_linger(time_point now);
    void on_close_timer(time_point now);
    time_point answer_due(const session& node) const noexcept;
    void end(time_point now);

    const client_options* options_;
    engine_host* host_;
    std::vector<node_name> names_;
    timers timers_;
    traffic* traffic_;
    tallies counts_;
    std::string client_id_;
    std::string channel_;  // that is listened to, on every node
    std::vector<std::unique_ptr<session>> sessions_;
    std::vector<std::unique_ptr<listener>> listeners_;
    node_mask reported_deaf_ = 0;  // since they last could be listened to
    node_mask reported_late_ = 0;  // that node_timeout is too short for them
    using operation_list = boost::intrusive::list<
        operation, boost::intrusive::member_hook<operation, list_hook, &operation::listed_>,
        boost::intrusive::constant_time_size<false>>;
    operation_list operations_;
    operation_list await_end_;  // those that wait until the client is closed
    boost::intrusive::list<
        held_lease, boost::intrusive::member_hook<held_lease, list_hook, &held_lease::listed_>,
        boost::intrusive::constant_time_size<false>>
        held_leases_;
    owner_claims owners_;
    std::string blank_;
    std::vector<operation_ptr> unsettled_;  // that wait until it is known who may vote
    struct due_renewal {
        time_point needed_by;
        held_lease_ptr lease;
        bool operator<(const due_renewal& other) const noexcept {
            return needed_by > other.needed_by;
        }
    };
    std::priority_queue<due_renewal> due_;  // the most urgent first
    core::window renewals_;                 // rounds under way
    std::unique_ptr<node_tracker> tracker_;
    remote_queue remote_queue_{*this};
    core::admission admission_;
    close_timer close_timer_{*this};
    time_point answers_awaited_from_{};  // a node has node_timeout from then on
    time_point linger_until_{};          // when every key has expired
    time_point close_timer_at_{};
    time_point silence_checked_at_ = time_point::min();  // when `close_timer_` last rang
    bool closing_ = false;
    bool is_lingering_ = false;
    bool over_ = false;
    error_code closed_as_;
};

}  // namespace redlock::detail

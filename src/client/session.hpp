// One node: its handshake, its pipeline and what is owed to it; and the sessions of all nodes as
// one.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/call.hpp"
#include "client/connection.hpp"
#include "client/context.hpp"
#include "core/connection.hpp"
#include "core/eligibility.hpp"
#include "core/lease.hpp"
#include "value/nodes.hpp"
#include "wire/request.hpp"
#include "wire/resp/command.hpp"

#include <redlock/options.hpp>

#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redlock::detail {

/// What a session reports to its owner, and gets from it.
class session_owner : public connection_owner {
public:
    /// What the record of a node that is being greeted goes by.
    virtual core::record_terms record_terms(std::size_t node) = 0;
    /// The handshake, sent at `began`, is over; nothing has been sent since.
    virtual void on_greeted(std::size_t node, const greeting& facts, time_point began,
                            time_point now) = 0;
    /// What had waited for the node has been sent.
    virtual void on_node_up(std::size_t node, duration took, time_point now) = 0;
    virtual void on_node_down(std::size_t node, const wire::failure& why, time_point now) = 0;
    virtual void on_release_owed(std::size_t node) = 0;
    /// What holds for the fences of all requests that are sent now.
    virtual core::fence_limits limits_of_fences() = 0;

protected:
    ~session_owner() = default;
};

/// Bounds on what may wait for one node: enough for the renewals of 100,000 leases and what workers
/// ask meanwhile. An owed release is never dropped: where `max_owed` are owed already, commands
/// that begin another lease are refused.
struct session_limits {
    std::size_t max_requests = 1U << 18;
    std::size_t max_bytes = 16U << 20;
    std::size_t max_owed = 65'536;
};

/// The releases that a node has not answered, and why.
struct leftovers {
    std::size_t releases = 0;
    wire::failure why{};
};

/// What is submitted leaves in that order, and replies are matched in that order. The requests of
/// one turn leave together, as few commands: each has its own place in the pipeline, its deadline
/// and its answer.
class session final : public connection {
public:
    session(std::size_t index, const client_options& options, transport& wire, session_owner& owner,
            traffic& counts, session_limits limits = {});

    // From the coordinator.
    using connection::start;
    /// Hands a request or a command to the node. A failure is returned when it can't be taken;
    /// otherwise the call receives a reply or a failure exactly once. A release that can't be sent
    /// now is owed, and fails.
    std::optional<wire::failure> submit(call_ptr what, std::uint32_t round,
                                        const wire::request& text, time_point now);
    /// At the end of a turn: what was submitted is ready to be written.
    void end_turn();
    /// From now on the node goes by another record.
    void set_record(const core::record_facts& record);
    /// For other threads to read: whether it is connected, and since when it may vote.
    void show_standing(time_point votes_from) noexcept {
        counts_->nodes[index()].connected.set(is_ready() ? 1 : 0);
        counts_->nodes[index()].votes_from = votes_from;
    }
    /// By how much the node's clock is ahead of ours at most. Until this is known, requests that
    /// can take a key carry no time limit.
    void set_clock(std::int64_t ahead_us) noexcept { clock_ahead_us_ = ahead_us; }
    /// Greets the node again, on a new connection: its answers in the handshake no longer hold.
    void reconnect(const wire::failure& why, time_point now);
    /// No more commands: what is outstanding fails with client_closed. Returns how many releases
    /// were among it; they may have been executed all the same.
    leftovers close(time_point now);
    /// When the node last answered anything, also in a handshake.
    time_point last_answer() const noexcept { return last_answer_; }
    /// How many requests and commands are written, awaited, queued or owed.
    std::size_t backlog() const noexcept {
        return pipeline_.size() + waiting_.size() + owed_.size();
    }
    /// Whether nothing is under way that a client which ends has to wait for. What waits for a
    /// connection counts only where it is owed.
    bool is_idle() const noexcept;
    /// Whether any request or command has gone out to the node, on any connection.
    bool was_asked() const noexcept { return was_asked_; }

    // From the performer.
    void on_time(time_point now);
    time_point deadline() const noexcept;
    void on_written() noexcept override { unwritten_ = 0; }

    /// Why its answers come too late; empty where it has time enough for its round trip.
    std::string lateness() const;
    using connection::round_trip;  // of the handshake

private:
    enum class state : std::uint8_t {
        awaited,   // by the call
        reported,  // the call has got a reply or a failure, and gets no other
        probe      // as reported; the reply shows whether the node takes owed releases again
    };
    struct entry {
        call_ptr what;
        std::uint32_t round = 0;
        std::uint8_t requests = 1;  // of its command: valid in the first of them only
        resp::script_form form = resp::script_form::by_hash;  // whole: NOSCRIPT is final
        state is = state::awaited;

        /// Whether the call is to get its reply or failure now: true once.
        bool report() noexcept {
            if (is != state::awaited) return false;
            is = state::reported;
            return true;
        }
    };
    struct queued {
        entry item;
        wire::request text;  // empty for a request, which is written when it is sent
    };
    using slot = core::pipeline<entry>::slot;

    void send(entry item, const wire::request& text, time_point now);
    /// As it stands now. False, and nothing sent, where it can't be written again.
    bool send_again(entry& item, resp::script_form form, time_point now);
    std::optional<std::int64_t> time_limit() const noexcept;
    void answered(slot first, const resp::reply& reply, bool is_of_many, time_point now);
    void greet(time_point now) override;
    void on_greeting(const resp::reply& reply, time_point now) override;
    void on_reply(const resp::reply& reply, time_point now) override;
    void on_end(const wire::failure& why, time_point now) override;
    void on_ready(time_point now);
    void owe(entry item);
    void send_owed(time_point now);
    void probe_owed(time_point now);
    std::size_t tell_all(const wire::failure& why, time_point now);
    time_point stall_deadline() const noexcept;
    bool is_full(std::size_t more_bytes) const noexcept;
    std::optional<wire::failure> refuse(const wire::request& text) const;

    session_owner* owner_;
    traffic* counts_;
    session_limits limits_;
    handshake handshake_;
    core::pipeline<entry> pipeline_;
    // The requests of this turn: they are in the pipeline already.
    wire::batch batch_;
    resp::script_form batch_form_ = resp::script_form::by_hash;
    time_point batch_begun_{};  // when its first request was added
    std::vector<slot> answered_;  // of one command; kept for its memory
    std::deque<queued> waiting_;  // submitted while the link was on its way
    std::size_t waiting_bytes_ = 0;  // of the requests and commands in `waiting_`
    core::debts<entry> owed_;
    std::string epoch_;  // that requests name; empty: they name none
    core::keep_limit keep_limit_;
    std::optional<std::int64_t> clock_ahead_us_;
    bool has_delifeq_ = false;
    bool was_asked_ = false;
    std::size_t unwritten_ = 0;  // at the end of the pipeline, that can't be answered yet
    wire::failure last_failure_;  // of the latest connection that ended
    time_point greeted_from_{};   // when the latest greeting began
    time_point last_answer_{};    // also in a greeting
};

class node_sessions : public one_per_node<session> {
public:
    node_mask all() const noexcept { return node_mask::first(size()); }

    struct fan_out {
        node_mask sent{};
        std::vector<std::pair<std::size_t, wire::failure>> failures;
    };
    /// Hands it to the nodes of `mask`. The failures are for the caller to count, after it has
    /// noted what was sent.
    fan_out send(call& what, std::uint32_t round, const wire::request& text, time_point now,
                 node_mask mask) const;
    /// An empty one to write, before it is sent. Each call ends the use of the one before.
    wire::request& blank() noexcept {
        blank_.clear();
        return blank_;
    }
    /// In what time all nodes have answered one command about a lease of `ttl`, if they ever do: so
    /// long an operation waits for them at most.
    duration time_for_all(duration ttl = core::any_ttl) const noexcept;
    /// In what time a quorum has, by those of its nodes with the shortest time-outs.
    duration time_for_quorum(const node_lists& lists) const noexcept;
    /// The same by the shortest time-outs that they have for any ttl: what the windows on the load
    /// go by.
    duration shortest_time_for_quorum(const node_lists& lists) const noexcept;
    /// To a quorum, by those of its nodes that are nearest; zero where that is not known. A node
    /// that was slow when it was connected counts with no more than its time-out.
    duration round_trip(const node_lists& lists) const noexcept;
    /// How long after the request the last node may vote: it may have to be sent the scripts
    /// first.
    duration time_to_vote(duration ttl = core::any_ttl) const noexcept {
        return 2 * time_for_all(ttl);
    }

private:
    wire::request blank_;
};

}  // namespace redlock::detail

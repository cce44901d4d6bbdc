// Asks the nodes about themselves, and tells what is known of them; no lease, and no rule.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/call.hpp"
#include "client/context.hpp"
#include "client/findings.hpp"
#include "client/session.hpp"
#include "core/node_knowledge.hpp"
#include "wire/lock.hpp"
#include "wire/record.hpp"

#include <redlock/list_state.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// Receives what the tracker finds.
class tracker_owner {
public:
    /// It is known which nodes may vote, as well as it will be for now.
    virtual void on_settled(time_point now) = 0;
    /// Our own clock stood still for `gap`, at most: every validity ends earlier by it.
    virtual void on_clock_gap(duration gap, time_point now) = 0;

protected:
    ~tracker_owner() = default;
};

/// Carries out the orders of `core::node_knowledge`, and passes the answers on to it. Not
/// thread-safe: like the engine that it is a part of.
class node_tracker {
public:
    node_tracker(context& shared, node_sessions& nodes, tracker_owner& owner);

    void start(time_point now);
    /// What the client does with the records from now on, if it did less before.
    void take_role(core::record_role role, time_point now);
    /// See `core::membership`.
    void end_change(node_mask gone, time_point now) {
        pass_on(now, &core::node_knowledge::end_change, gone);
    }
    void close() noexcept;

    // From the sessions, through the engine.
    /// Of a handshake.
    core::record_terms greeting_terms(std::size_t node) const;
    void on_greeted(std::size_t node, const greeting& facts, time_point began, time_point now);
    void on_node_up(time_point now) { go_on(now); }
    void on_node_down(std::size_t node, time_point now) {
        pass_on(now, &core::node_knowledge::down, node);
    }

    const core::node_knowledge& known() const noexcept { return knowledge_; }
    /// Whether a node's answer to a round that was sent then is a vote.
    std::optional<objection> object(std::size_t node, time_point sent, time_point now) const;
    /// What is in its way now, as if no node were of another set.
    std::optional<objection> own_objection(std::size_t node, time_point now) const;
    /// The nodes that are worth asking for a vote. One in quarantine is: it keeps the key.
    node_mask askable() const noexcept;
    /// The node's answer showed that its answers in the handshake no longer hold.
    void greet_again(std::size_t node, time_point now);
    /// The answer to a command that was sent at `sent` showed this of the node: if the node is not
    /// what it was in the handshake, the client looks at it, or greets it again. The owner may
    /// be notified of a change before this returns.
    void note(std::size_t node, time_point sent, const core::node_signs& signs, time_point now);
    /// Notes the signs, and returns what the answer is worth.
    judgement judge(std::size_t node, time_point sent, const core::node_signs& signs,
                    time_point now);
    /// The texts about the nodes, and what was reported of them.
    node_reports& reports() noexcept { return reports_; }
    /// An operator declares the node new, and a member of this client's set; and may lower fences.
    wire::record_exchange declaration(std::size_t node, time_point began,
                                      bool lowers_fences) const;
    /// One step of a change of the list.
    wire::record_exchange list_step(std::size_t node, const core::list_step& step) const;
    /// The record of a node after such a step.
    void note_list_step(std::size_t node, const core::record_facts& record, time_point sent,
                        time_point now) {
        pass_on(now, &core::node_knowledge::turned, node, record, sent);
    }
    /// How each node stands in a change of the list.
    std::vector<list_standing> list_standings(time_point now) const;

    /// A fresh fence, above `seen`, and as high as `raised` where that is not too far ahead of node
    /// time. Nothing where `seen` is, or node time is in doubt.
    std::optional<wire::fence_terms> propose(std::uint64_t seen, time_point now,
                                             std::uint64_t raised = 0);
    /// Whether a client that goes by the rules can have drawn that fence by now. A fence that none
    /// can have drawn is not passed on to any node.
    bool believes(std::uint64_t fence, time_point now) const noexcept {
        return fence <= knowledge_.highest_plausible_fence(now);
    }

private:
    class query;
    using alarm = detail::alarm<node_tracker>;

    using words = std::initializer_list<std::string_view>;

    core::node_knowledge& up_to_date();
    /// A fact, and carries out what follows from it.
    template <class Fact, class... About>
    void pass_on(time_point now, Fact fact, const About&... about) {
        (up_to_date().*fact)(about..., now);
        carry_out(now);
    }
    void carry_out(time_point now);
    void carry_out(const core::node_order& order, time_point now);
    core::record_terms record_terms() const;
    core::record_terms terms_for(std::size_t node) const;
    wire::record_exchange on_known(std::size_t node, core::record_rule rule) const;
    template <class What>
    void send(const core::node_order& order, What what, time_point now);
    void send_bootstrap(const core::node_order& order, time_point now);
    void send_look(const core::node_order& order, time_point now);
    void send_clock(const core::node_order& order, time_point now);
    void send_floor(const core::node_order& order, time_point now);
    void send_turn(const core::node_order& order, time_point now);

    void answered(const query& to, std::size_t node, const resp::reply& reply, time_point now);
    void on_bootstrap(const query& to, std::size_t node, const core::record_facts& record,
                      time_point now);
    void on_replication(std::size_t node, const resp::reply& reply);

    void settle(time_point now) { pass_on(now, &core::node_knowledge::settle); }
    void go_on(time_point now) { pass_on(now, &core::node_knowledge::go_on); }
    void probe(time_point now);
    void regreet(time_point now);

    context* shared_;
    node_sessions* nodes_;
    tracker_owner* owner_;
    std::string record_key_;
    std::string set_names_;
    core::node_knowledge knowledge_;
    node_reports reports_;
    node_mask to_greet_;
    alarm settle_alarm_{*this, &node_tracker::settle};
    alarm bootstrap_alarm_{*this, &node_tracker::go_on};
    alarm probe_alarm_{*this, &node_tracker::probe};
    alarm regreet_alarm_{*this, &node_tracker::regreet};
};

}  // namespace redlock::detail

// What one client knows of its nodes, and what it asks them for that reason; sends nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/change.hpp"
#include "core/clock_watch.hpp"
#include "core/eligibility.hpp"
#include "core/lease.hpp"
#include "value/clock.hpp"

#include <redlock/error.hpp>
#include <redlock/options.hpp>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redlock::core {

/// Decides whether a release has to raise the fence. What lay in the buffer of a connection that
/// broke may still be executed by the node, after the release that was sent on the next connection:
/// a plain release would let such an acquire take the key again, for a holder that is gone.
class disruptions {
public:
    explicit disruptions(std::size_t nodes) : nodes_(nodes) {}

    void broke(std::size_t node) { at(node).broke_at = ++count_; }
    /// Its record is another: it has forgotten, and executes nothing that was sent before.
    void forgot(std::size_t node) { at(node).forgot_at = ++count_; }
    /// How many connections have broken, and records changed, so far.
    std::uint64_t so_far() const noexcept { return count_; }

    /// Whether a command of those traces may still arrive at the node out of order. What was sent
    /// under another record can't take anything any more, and a fence that the node has forgotten
    /// counts as more than what was written down then. So only a break since then can hide
    /// something that still can.
    bool may_arrive_late(std::size_t node, const traces& of) const noexcept {
        assert(node < nodes_.size());
        const facts& f = nodes_[node];
        const bool has_broken = f.broke_at > std::max(of.born, f.forgot_at);
        return of.highest_fence != 0 && (has_broken || of.began_elsewhere);
    }

private:
    struct facts {
        std::uint64_t broke_at = 0;
        std::uint64_t forgot_at = 0;
    };
    facts& at(std::size_t node) noexcept {
        assert(node < nodes_.size());
        return nodes_[node];
    }

    std::vector<facts> nodes_;
    std::uint64_t count_ = 0;
};

/// Where none of these is set, the node is what it was in the handshake.
struct node_signs {
    bool is_late = false;      ///< It refused a command as late: its clock may have stepped.
    bool is_amnesiac = false;  ///< Its record is missing or another: it may have forgotten leases.
    bool is_replica = false;

    bool any() const noexcept { return is_late || is_amnesiac || is_replica; }
};

/// Facts go in, with the time among them, and orders come out. It calls nobody. Its driver says how
/// the connections stand before each fact, takes the orders after it, carries them out in their
/// sequence, and calls `failed`, as not sent, for each that the node's connection did not take.
///
/// It joins these machines: `membership` tells of which list a node is, `eligibility` decides which
/// nodes vote, `bootstrap` whether the cluster is new, `clock_watch` which clocks stepped,
/// `disruptions` what may still arrive late, `settling` how long acquires wait, and `fence_source`
/// the next fence. What lies between is decided here:
/// - Where the clocks of all nodes went back a node votes when its record has the lift that is due:
///   of each quorum that grants by it one node at least is among the next, and shows it.
/// - Where a look finds another record than the handshake did, the handshake runs again: the node
///   was flushed, and its quarantine begins with the record that a handshake makes. (With the next
///   acquire it would begin too late, and last a ttl_max from then.)
/// - A command that was answered 'AMNESIAC' is news only where it was sent after the record was
///   read. All that had left before a flush was noticed is answered so, and each of these answers
///   would break the connection once more for another handshake.
/// - While a bootstrap is under way neither is news, nor a clock that could not be written: the
///   record's maker may have taken it back. The bootstrap looks again by itself; another handshake
///   would break the connection. The records that this client made would then stay, and nobody
///   would open them.
/// - A client that only looks (it has acquired nothing, and holds nothing) writes no record: with
///   one node of three in its list it would name a set of one on a node that restarted empty, and
///   end every lock of the real set. It judges as if it had written.
/// - A node without a vote is not reported while a bootstrap may give it one any moment.
class node_knowledge {
public:
    /// `mark`: of the records that this client makes. `sets`: those that its list names.
    node_knowledge(const client_options& options, std::string mark, own_sets sets = {});

    // Facts.

    void start(time_point now);
    /// From now on the client does this with the records, if it did less before.
    void take_role(record_role role, time_point now);
    /// An operator ends the change of the list: a node of another set that leaves keeps no other
    /// from getting its record any more. `gone`: see `membership::presume_gone`.
    void end_change(node_mask gone, time_point now);
    record_role role() const noexcept { return role_; }
    /// No orders are given from now on but for what commands on their way go by.
    void close() noexcept { is_closed_ = true; }
    bool is_closed() const noexcept { return is_closed_; }
    void set_link(std::size_t node, const link_facts& link) {
        assert(node < nodes_.size());
        watch_.set_link(node, link);
    }

    struct handshake {
        server_facts server;
        std::optional<std::int64_t> time_us;
        record_facts record;  ///< Of a master, where `fencing` is on.
        time_point began{};
    };
    /// Nothing has been sent since; `go_on` follows when what had waited was.
    void greeted(std::size_t node, const handshake& facts, time_point now);
    /// What had waited for a node was sent; or the timer at `bootstrap_deadline` went off.
    void go_on(time_point now) { decide(now); }
    void down(std::size_t node, time_point now);
    /// The timer at `settle_deadline` went off.
    void settle(time_point now);
    /// Once every `between_probes`. Where the looks of the last time, or first connections, are
    /// still under way it waits for them, once: clocks are compared only when none is, and beside
    /// a short `ttl_max` that would never be, for nodes that are far.
    void probe(time_point now);
    duration between_probes() const noexcept { return clock_watch::between_probes(eligibility_); }

    /// The record on a node, by an order of the bootstrap that was carried out at `sent`.
    void bootstrap_found(std::size_t node, const record_facts& record, time_point sent,
                         time_point now);
    /// An order to open or to withdraw was answered. `written`: the record after it; null where it
    /// bore another mark by then.
    void bootstrap_done(std::size_t node, bootstrap::task step, const record_facts* written,
                        time_point sent, time_point now);

    /// The answer to a look: the time alone, or the record, which has the time in it; or neither,
    /// where the node answered something else.
    struct sight {
        std::optional<std::int64_t> time_us;
        std::optional<record_facts> record;
    };
    void looked(std::size_t node, const sight& seen, time_point sent, time_point now);
    /// The record after an order to write a clock was carried out.
    void clock_written(std::size_t node, const record_facts& record, time_point sent,
                       time_point now);
    /// The record after an order to write its floor was carried out.
    void floor_written(std::size_t node, const record_facts& record, time_point sent,
                       time_point now);
    /// The record after an order to turn it was carried out, or a step of a commit.
    void turned(std::size_t node, const record_facts& record, time_point sent, time_point now);
    void read_replication(std::size_t node, const server_facts& facts);
    /// What the answer to a command that was sent at `sent` showed.
    void showed(std::size_t node, const node_signs& signs, time_point sent, time_point now);
    /// The order failed, and may have been carried out all the same if it `was_sent`.
    void failed(node_order::task what, std::size_t node, time_point now, bool was_sent = true);

    // What follows.

    bool has_orders() const noexcept { return !orders_.empty(); }
    node_orders take_orders() { return std::exchange(orders_, {}); }
    time_point bootstrap_deadline() const noexcept { return bootstrap_deadline_; }
    time_point settle_deadline() const noexcept { return settling_.deadline(); }
    /// So much is known that an acquire can be begun: a quorum may vote, or nothing is to be gained
    /// by waiting any longer.
    bool is_settled() const noexcept { return settling_.is_settled(); }

    const membership& lists() const noexcept { return membership_; }
    /// Another node has not answered yet, nor failed.
    bool is_reading_others(std::size_t node) const noexcept {
        return bootstrap_.is_reading_others(node);
    }
    /// What the looks say of announced changes: before which instant, in cluster time, one has to
    /// have been announced last to be forgotten. Only a client with one list forgets it, when for a
    /// quarantine it has read all nodes, and none was closed or of another set.
    std::optional<std::int64_t> forgets_announced_before_us() const noexcept {
        return forgets_before_us_;
    }
    /// How often a node's record was another one than was known since the list changes.
    std::uint64_t list_steps() const noexcept { return list_steps_; }
    const eligibility& votes() const noexcept { return eligibility_; }
    /// As the node last reported it, whether it counts or not.
    const record_facts& record_on(std::size_t node) const noexcept { return nodes_[node].record; }
    const node_clocks& clocks() const noexcept { return watch_.clocks(); }
    bool hangs_on_all(std::size_t node, time_point now) const {
        return eligibility_.is_presumed_open(node) ||
               watch_.hangs_on_all(node, eligibility_, now);
    }
    const disruptions& breaks() const noexcept { return disruptions_; }
    const std::string& mark() const noexcept { return bootstrap_.mark(); }

    /// Node time with the lift, by which fences go; nothing before the first reading of a clock.
    std::optional<std::int64_t> fence_time_us(time_point now) const noexcept;
    /// By how much the clocks of all nodes went back, at least; nothing where they did not, or are
    /// ahead again, though a rest of the lift is left.
    std::optional<duration> least_step() const noexcept {
        const duration least = least_step_of(reckoned_, clocks().tolerance());
        return least > duration::zero() ? std::optional(least) : std::nullopt;
    }
    /// What a record that is written says of fences.
    const fence_floor& floor_to_write() const noexcept {
        return reckoned_.has_lift_of(floor_) ? reckoned_ : floor_;
    }
    /// A fresh fence, above `seen`, and as high as `raised` where that is not too far ahead of node
    /// time. Nothing where `seen` is, or node time is in doubt. May order that node time is written
    /// to the records, before what carries the fence.
    std::optional<std::uint64_t> propose(std::uint64_t seen, time_point now,
                                         std::uint64_t raised);
    /// A client that goes by the rules can have drawn this fence, and none above it.
    std::uint64_t highest_plausible_fence(time_point now) const noexcept;
    /// What holds for the fences of all requests that are sent now.
    fence_limits limits_of_fences() const noexcept {
        return {clocks().tolerance(), span_of(reckoned_.lift_us)};
    }

private:
    using task = node_order::task;
    struct node_state {
        time_point read_at{};  // when its record was last read
        error_code reported;   // the objection of the last report
        std::chrono::milliseconds other_ttl_max{0};  // another client's, as its record last had it
        record_facts record;                         // as the node reported it
    };

    void order(task what, std::size_t node);
    void decide(time_point now);
    void order_bootstrap(time_point now);
    void compare_clocks(time_point now);
    void judge_floor(time_point now);
    bool may_write_floor(std::size_t node) const noexcept;
    void write_floor(std::size_t node, time_point now);
    void take_floor(std::size_t node);
    bool has_quorum(time_point now) const noexcept;
    bool may_reach_quorum() const noexcept;
    bool waits_for_raise(time_point now) noexcept;
    void report(time_point now);
    bool may_be_withdrawn() const noexcept { return bootstrap_.is_pending(); }
    void read_clock(std::size_t node, const clock_reading& reading, time_point now);
    void take_record(std::size_t node, const record_facts& record, time_point sent,
                     time_point now);
    void use_record(std::size_t node, time_point now);
    void note_in_bootstrap(std::size_t node, time_point sent, time_point now);
    bool was_changed(std::size_t node, const record_facts& record) const;
    void order_turns();
    void report_ttl_max(std::size_t node, const record_facts& record);
    void look_for_abandoned_change(time_point now);

    node_lists lists_;
    bool is_fenced_;
    bool is_guarded_;
    std::chrono::milliseconds ttl_max_;  // this client's own
    membership membership_;
    eligibility eligibility_;
    bootstrap bootstrap_;
    clock_watch watch_;
    fence_source fences_;
    fence_floor floor_;     // by the records that were met
    fence_floor reckoned_;  // the same with what is to be on record: the lift, and node time
    std::uint64_t reported_lifts_ = 0;
    node_mask floors_ordered_;  // to be written
    node_mask floors_refused_;  // since the last probe
    disruptions disruptions_;
    settling settling_;
    std::vector<node_state> nodes_;
    std::uint64_t list_steps_ = 0;
    std::optional<std::size_t> turning_;  // the node that has an order to that effect
    node_mask unturned_;                  // the order failed since the last probe
    node_mask read_again_;  // since the last probe, to make a record of another one
    node_orders orders_;
    time_point bootstrap_deadline_ = time_point::max();
    time_point undisturbed_since_ = time_point::max();  // all nodes were read, each a plain member
    std::optional<std::int64_t> forgets_before_us_;
    time_point roles_due_ = time_point::min();  // when the servers' roles are looked at again
    record_role role_ = record_role::looks;
    bool was_probe_put_off_ = false;
    bool has_begun_ = false;
    bool ends_change_ = false;
    bool is_closed_ = false;
};

}  // namespace redlock::core

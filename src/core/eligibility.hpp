// Which nodes may vote, and since when: replicas, doubles, skewed clocks, lost data, new clusters.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/node_clocks.hpp"
#include "core/record.hpp"
#include "value/clock.hpp"
#include "value/nodes.hpp"
#include "value/options.hpp"

#include <redlock/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redlock::core {

/// The restart guard: a node that may have forgotten a lease has no vote until none that was
/// granted before can be alive. It still receives the requests, and keeps the key.
///
/// A record holds two numbers. `ttl_max` is what a lease may ask for, `quarantine` what a node
/// waits for after it may have forgotten leases. A client with a larger ttl_max raises the
/// quarantine first, and ttl_max only when every node has that quarantine. With one number, raised
/// node by node, a long lease stood on two nodes; one of them lost its data, the third had never
/// met the larger number, and the two granted the lock again after the smaller one.
///
/// A vote counts where `votes_from(node)` is not after the instant at which its round was sent.
class eligibility {
public:
    eligibility(const node_lists& lists, bool is_on, std::chrono::milliseconds ttl_max,
                drift_policy drift);

    /// A handshake succeeded. The node has no vote until its clock is compared again.
    void met(std::size_t node, const server_facts& server, time_point now);
    /// What is on record on it, `now` being when the answer arrived.
    void read(std::size_t node, const record_facts& record, time_point now);
    /// Whether no node has a record and this client, which only looks, takes all for new.
    void presume_new(bool is_new) noexcept { is_presumed_new_ = is_new; }
    /// Whether the node has no record, and this client, which only looks, takes it for unused: a
    /// client that keeps records would have it vote at once.
    void presume_open(std::size_t node, bool is) noexcept { nodes_[node].is_presumed_open = is; }
    bool is_presumed_open(std::size_t node) const noexcept { return nodes_[node].is_presumed_open; }
    /// Its clock may have stepped, and keys may have expired early: no vote until it is compared.
    void doubt(std::size_t node) noexcept { nodes_[node].is_compared = false; }
    /// Its clock was compared with its record, and had not stepped.
    void compared(std::size_t node, const clock_check& clock, time_point now);
    void set_skewed(std::size_t node, bool is_skewed, time_point now);
    /// Its record lacks the lift by which fences go; see `fence_floor`. A grant by a lift has to be
    /// known to each quorum that follows.
    void set_unlifted(std::size_t node, bool is_unlifted, time_point now);
    bool is_unlifted(std::size_t node) const noexcept { return nodes_[node].is_unlifted; }

    /// The end of time where it has none.
    time_point votes_from(std::size_t node) const noexcept;
    /// Why it has no vote: not_master, duplicate_node, clock_skew, other_set (for every node as
    /// soon as one belongs to another set; for one alone that is closed or has missed a change), or
    /// in_quarantine, the only one that ends by itself. No error where it has one.
    error_code objection(std::size_t node, time_point now) const noexcept;
    /// The same, as if no node were of another set.
    error_code own_objection(std::size_t node, time_point now) const noexcept;
    /// Whether it is worth asking: one in quarantine is.
    bool may_be_queried(std::size_t node) const noexcept { return !nodes_[node].unfit; }
    /// After a change of the list the client waits until no lease by an earlier list can be alive
    /// on the node: for so long yet. The node is in quarantine until then. A client without the
    /// guard waits, too: from its own first look, for the quarantine on that record.
    duration settles_in(std::size_t node, time_point now) const noexcept;
    /// The same for programs with the new list alone, whichever this client has.
    duration member_wait_left(std::size_t node, time_point now) const noexcept;
    /// May be zero while its clock is still to be compared.
    duration quarantine_left(std::size_t node, time_point now) const noexcept;
    /// Its clock was compared with its record, which says how long a lease may be.
    bool is_compared(std::size_t node) const noexcept {
        const standing& s = nodes_[node];
        const bool takes_leases =
            !s.record.exists || s.record.ttl_max > std::chrono::milliseconds(0);
        const bool is_presumed = is_presumed_new_ || s.is_presumed_open;
        return !is_on_ || is_presumed || (s.is_compared && takes_leases);
    }
    /// Whether its data are older than what this client read there: its record went back.
    bool went_back(std::size_t node) const noexcept { return nodes_[node].went_back; }
    /// Whether the data of an earlier process are the node's last ones. It was `seen_for` ago, in
    /// cluster time, when a client last saw that process.
    bool has_survived(std::size_t node, duration seen_for) const noexcept;
    /// Whether no lease that it may have forgotten can be alive, by the quarantine on its own
    /// record.
    bool has_outlived_leases(std::size_t node, time_point now) const noexcept;
    time_point remembers_since(std::size_t node) const noexcept {
        return nodes_[node].remembers_since;
    }
    /// By its record it has been in quarantine since then.
    bool has_had_no_vote(std::size_t node, time_point since, time_point now) const noexcept {
        const standing& s = nodes_[node];
        return s.record.exists && s.remembers_since <= since && now < quarantine_end(s);
    }
    /// What its server said of itself in the last handshake.
    const server_facts& server_of(std::size_t node) const noexcept { return nodes_[node].server; }
    const record_facts& record_of(std::size_t node) const noexcept { return nodes_[node].record; }
    /// The node whose server it is, too; the node itself if it is no double.
    std::size_t first_of(std::size_t node) const noexcept;

    /// The largest on any record; this client's own where no record has one.
    std::chrono::milliseconds ttl_max() const noexcept;
    std::chrono::milliseconds quarantine() const noexcept;
    /// The smallest that a record or this client knows.
    std::chrono::milliseconds least_quarantine() const noexcept;
    /// With its drift allowance.
    duration whole_quarantine() const noexcept;
    /// The longest lease that a quorum of nodes takes; this client's ttl_max where that is unknown.
    std::chrono::milliseconds longest_lease() const noexcept;

    /// What a client that keeps records raises the numbers on them to.
    struct numbers {
        std::chrono::milliseconds quarantine{0};
        std::chrono::milliseconds ttl_max{0};
    };
    /// `on_record`: the nodes that have a record that was read on a connection that stands.
    numbers wanted(node_mask on_record) const noexcept;
    /// Of a record that is made: what the others have, where all others have one. A node that lost
    /// its data waits for leases of that length, and not for those that the program which met it
    /// empty will ask for.
    numbers of_made() const noexcept;

private:
    struct standing {
        server_facts server;
        std::string run_id_before;  // another server's: the name led there last
        std::uint64_t met_as = 0;  // the order in which servers were met
        bool is_met = false;
        bool is_skewed = false;
        bool is_unlifted = false;
        bool is_compared = false;
        bool is_presumed_open = false;
        error_code unfit;
        time_point fit_since = time_point::min();
        record_facts record;
        time_point remembers_since = time_point::max();
        time_point became_at = time_point::max();  // of the client's list; see `waits_for_earlier`
        bool went_back = false;
    };

    void refresh(time_point now);
    error_code own_unfitness(std::size_t node) const noexcept;
    bool has_changed_name(std::size_t node) const noexcept;
    bool is_among_other_sets() const noexcept;
    time_point quarantine_end(const standing& s) const noexcept;
    time_point settled_from(const standing& s) const noexcept;
    duration settling_time(const record_facts& record) const noexcept;
    std::optional<std::int64_t> latest_init() const noexcept;
    numbers largest_on_record() const noexcept;
    template <class Number>
    std::chrono::milliseconds largest(Number number) const noexcept;

    node_lists lists_;
    bool is_on_;
    bool is_presumed_new_ = false;
    std::chrono::milliseconds ttl_max_;  // this client's own
    drift_policy drift_;
    std::vector<standing> nodes_;
    std::uint64_t meetings_ = 0;
};

/// The longest lease that the record of a node allows, where the nodes are guarded against lost
/// data. A key that stayed for longer could outlive the quarantine of another node. A node without
/// a record has no vote yet: what it keeps endangers nothing.
class keep_limit {
public:
    void set(const record_facts& record, bool is_guarded) noexcept {
        const bool has_limit = record.exists && record.ttl_max > record.ttl_max.zero();
        limit_ = has_limit && is_guarded ? std::optional(record.ttl_max) : std::nullopt;
    }
    bool allows(duration keeps_for) const noexcept { return !limit_ || keeps_for <= *limit_; }
    /// Where it allows less than all.
    std::chrono::milliseconds ttl_max() const noexcept { return *limit_; }

private:
    std::optional<std::chrono::milliseconds> limit_;
};

/// An acquire that is sent before the handshakes are over is refused by nodes that would grant it a
/// moment later. So it waits until a quorum may vote, or until nothing is under way that could give
/// a node its vote, or until a deadline.
///
/// Where a node is connected, and its record is still to be read or made when a quorum may vote,
/// that node would refuse what is sent to it now. It is given as long again as the quorum took: a
/// node that hangs costs no more.
///
/// The deadline bounds the wait for nodes that never answer. It is one connect_timeout, two where a
/// quorum is so far away that it is still being greeted after one, and one
/// node_timeout more where a command is out whose answer may give a node its vote. So it is where
/// clocks have still to be compared: that begins when the last node has answered, or was out of
/// reach for connect_timeout, and ends with what is then written to the records. It grows no
/// further: nodes that come back one after the other, each with a command of its own, would hold
/// up acquires without end.
class settling {
public:
    /// `is_settled`: false where acquires wait from the start.
    settling(bool is_settled, duration connect_timeout) noexcept
        : connect_timeout_(connect_timeout), is_settled_(is_settled) {}

    bool is_settled() const noexcept { return is_settled_; }
    /// The end of time where acquires do not wait.
    time_point deadline() const noexcept { return is_settled_ ? time_point::max() : settle_by_; }

    /// The nodes are being connected.
    void start(time_point now) noexcept {
        connect_by_ = settle_by_ = now + connect_timeout_;
        is_prolonged_ = false;
    }
    /// Nodes may soon get their vote. Has no effect while acquires wait.
    void unsettle(time_point now) noexcept {
        if (std::exchange(is_settled_, false)) start(now);
    }
    /// The same, for a client that has only looked until now, while its nodes may still be on their
    /// way: they are given no more time for that.
    void take_up(time_point now) noexcept {
        if (now >= connect_by_ || connect_by_ == time_point::max()) return unsettle(now);
        if (std::exchange(is_settled_, false)) settle_by_ = connect_by_;
    }
    /// A command was ordered whose answer may give a node its vote. The node answers within
    /// `node_timeout`, if ever. Many commands are not waited for longer than one.
    void extend(time_point now, duration node_timeout) noexcept {
        if (is_settled_) return;
        settle_by_ = std::max(settle_by_, std::min(now, connect_by_) + node_timeout);
    }
    /// Clocks are compared when no node may answer for the first time any more, and then written.
    void await_comparison(duration node_timeout) noexcept {
        if (!is_settled_) settle_by_ = std::max(settle_by_, connect_by_ + node_timeout);
    }
    /// Nodes that could make a quorum were neither greeted nor given up yet: each answer in a
    /// greeting has a connect_timeout. They get the same time again, once.
    void await_greeting(time_point now) noexcept {
        if (is_settled_ || is_prolonged_ || now < settle_by_) return;
        start(now);
        is_prolonged_ = true;
    }
    /// A quorum may vote, and the record of a node that is connected is still to be read.
    void note_quorum(time_point now) noexcept {
        if (is_settled_) return;
        const duration took = now - (connect_by_ - connect_timeout_);
        settle_by_ = std::min(settle_by_, now + took);
    }
    /// Whether the wait has just ended. `is_worth_waiting`: no quorum may vote yet, and something
    /// is under way that may change that.
    bool settle(bool is_worth_waiting, time_point now) noexcept {
        if (is_settled_ || (is_worth_waiting && now < settle_by_)) return false;
        is_settled_ = true;
        return true;
    }

private:
    duration connect_timeout_;
    bool is_settled_;
    bool is_prolonged_ = false;
    // nodes that have not answered by then are not waited for
    time_point connect_by_ = time_point::max();
    time_point settle_by_ = time_point::max();
};

/// Nodes that have no record may have lost it, with every lease they knew. Only where all of them
/// have none is the cluster new. Then one client opens all nodes at once, and nobody waits.
///
/// Records are made only when every node has answered or is out of reach, and none belongs to
/// another set: an empty node must not join the wrong set. Records that were made before that was
/// known are taken back: once they are old enough to vote, the next client with this list could be
/// granted a lease before the node of the other set answers it.
///
/// A client that only looks makes, opens and withdraws nothing until it keeps records.
///
/// A client writes its mark into each record that it makes. When all nodes took it, on connections
/// that have not broken since, it opens them. Of two clients that start one together, the one with
/// the higher mark takes its own back and gives the other some seconds. Whatever goes wrong leaves
/// records in quarantine, which is always safe.
class bootstrap {
public:
    /// What is to be done on a node.
    enum class task : std::uint8_t {
        look,      ///< Read the record; make none.
        make,      ///< Read it; make one with the mark where there is none.
        settle,    ///< Likewise, without the mark.
        open,      ///< Say that no earlier lease can be alive, where the mark still stands.
        withdraw,  ///< Remove the record where the mark still stands.
    };
    struct order {
        std::size_t node;
        task what;
    };

    /// `is_wanted`: false where only an operator may declare a cluster new.
    bootstrap(std::size_t nodes, bool is_wanted, duration window, std::string mark);

    const std::string& mark() const noexcept { return mark_; }
    void keep_records() noexcept { keeps_records_ = true; }
    /// Whether a client that keeps records would open all nodes: each has answered that it has
    /// none.
    bool is_new_cluster() const noexcept;

    /// The record of a node, from its handshake or from an order. The node read it at an instant
    /// between `sent` and `now`; when an order was given is known here.
    void found(std::size_t node, const record_facts& record, time_point now,
               time_point sent = time_point::max());
    /// Its server is in the list under another name, and answers there.
    void excuse(std::size_t node) noexcept { nodes_[node].is = state::excused; }
    /// The node belongs to another set: no record is made on any node until `found` says otherwise.
    void note_other_set(std::size_t node) noexcept;
    /// The node has a record that does not count yet, since the list of nodes changes: the cluster
    /// is not new.
    void note_record(std::size_t node) noexcept;
    /// The nodes that may be given a record, of those that have none. Where the list changes a
    /// record depends on the others': see `membership`.
    void set_makeable(node_mask nodes) noexcept { makeable_ = nodes; }
    /// Its connection broke, or could not be made.
    void down(std::size_t node) noexcept;
    /// An order to open or to withdraw was answered.
    void done(std::size_t node, time_point now) noexcept;

    /// What is to be done now. Each order is given once; one that could not be carried out, or
    /// whose connection broke, is followed by `down`.
    std::vector<order> due(time_point now);
    /// When to call `due` again.
    time_point deadline() const noexcept;
    /// The node had a record at the last `found`, and nobody is taking it back: where there is none
    /// now, the node has forgotten it.
    bool expects_record(std::size_t node) const noexcept {
        return nodes_[node].is == state::settled || nodes_[node].is == state::ours;
    }
    /// Another node has not answered yet, nor failed.
    bool is_reading_others(std::size_t node) const noexcept;
    /// An order has no answer yet.
    bool is_asking() const noexcept { return has(state::ordered); }
    /// Nodes may get their vote any moment: an acquire that can wait a little waits.
    bool is_pending() const noexcept;

private:
    enum class state : std::uint8_t {
        unknown,  // it has not answered yet
        down,
        empty,    // there was no record, or it was taken back
        ours,     // we made it on this connection
        theirs,   // it bears the mark of another client that is at it
        settled,
        excused,
        other_set,
        ordered,  // an order is under way
    };
    struct node_state {
        state is = state::unknown;
        task ordered = task::look;
        time_point ordered_at{};
        std::string mark;
    };

    bool has(state s) const noexcept;
    bool has_makeable() const noexcept;
    bool is_all_ours() const noexcept;
    bool may_make() const noexcept;
    bool waits_for_news() const noexcept;
    void look_soon(time_point now) noexcept;
    void give(std::vector<order>& out, std::size_t node, task what, time_point now);
    bool must_yield() const noexcept;

    std::string mark_;
    duration window_;
    bool keeps_records_ = false;
    std::vector<node_state> nodes_;
    node_mask makeable_ = node_mask::first(max_nodes);
    bool may_open_;              // nothing has been seen that speaks against a new cluster
    bool has_yielded_ = false;   // another client's mark goes first
    time_point first_made_ = time_point::max();
    time_point patience_ends_ = time_point::max();  // with the other client
    time_point next_look_ = time_point::max();
};

}  // namespace redlock::core

// The list of nodes while it changes: of which list a node is, and how the change is ended, step
// by step.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/clock.hpp"
#include "value/nodes.hpp"

#include <redlock/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redlock::core {

struct list_facts {
    enum class change : std::uint8_t {
        none,     ///< The node is a member of `set`.
        joining,  ///< It will be one of the set that follows `set`.
        closed,   ///< It takes only programs with the joint list of `set` and `closed_for`.
    };

    std::string set{};          ///< Empty: that of the client, which was not changed.
    std::string names{};        ///< What the record calls the nodes; "-": it does not say.
    std::uint64_t number = 0;   ///< How often the list was changed until then.
    change is = change::none;
    std::string closed_for{};
    std::string announced{};    ///< What a program with a joint list named as the set to follow.
    /// When one with that list was last there, in cluster time.
    std::optional<std::int64_t> announced_at_us{};
    std::string promised{};     ///< The highest ballot that the node takes; empty: none.
    std::string accepted{};     ///< The ballot under which it was closed.
    /// When it became a member by a change, by its own clock; 0: not so.
    std::int64_t became_us = 0;
    std::optional<std::int64_t> became_cluster_us{};  ///< The same in cluster time.
    /// The sets before, latest first.
    std::vector<std::pair<std::uint64_t, std::string>> history{};

    /// A change was being given up, and its end is not written yet: it is a member as before.
    bool is_closed_for_itself() const noexcept {
        return is == change::closed && closed_for == set;
    }
    /// Whether a change is under way, as far as the record tells.
    bool is_changing() const noexcept { return is != change::none || !announced.empty(); }
    /// Whether the record has words about a change.
    bool is_changed() const noexcept {
        return number != 0 || is != change::none || !announced.empty() || !promised.empty();
    }
    friend bool operator==(const list_facts&, const list_facts&) = default;
};

/// What a rule made of a node's record.
enum class rule_outcome : std::uint8_t {
    as_it_was,  ///< Of a step of a change: the record is another by now, or there is none.
    done,
    too_young,  ///< The node became a member too recently for what was to be done.
    outbid,     ///< It has promised a higher ballot.
};

/// Ballots are NUMBER.ID; an empty one is below all others.
bool is_above(const std::string& ballot, const std::string& other) noexcept;
/// The lowest one of a program with that id that is above `other`.
std::string ballot_above(const std::string& other, const std::string& id);

/// The sets that a client's list names: of a joint list two, else twice the same.
struct own_sets {
    std::string old{};
    std::string after{};
};

/// The list of nodes changes while locks are held. The old list is S, the new one T. Every node's
/// record names the set that the node is of, how often that was changed, and the sets before. An
/// operator closes a majority of S for all programs but those with the joint list, and then writes
/// T (`list_commit`). This class says what that makes of a node for a client:
/// - A client with S and T takes nodes of S, those that are closed for T, those that are joining S,
///   and those of T that followed S. A client with one list takes nodes of it alone.
/// - Of the same set under a smaller number a node is not: it missed changes, and clients that know
///   of them turn it into what they know. So is one whose set stands in the history of another
///   node. Until then it has no vote.
/// - A node of any other set is a misfit: then no node grants the client anything. But a joining
///   node with a record of some other set costs only its own vote.
///
/// - A node that was closed for its own set is a member of it, for every program: a change that is
///   being given up stops nobody.
///
/// A node that lost its record may have been closed. Where a change is under way its record is made
/// again only after so many others of each list that it is of were read, since the loss was seen,
/// that every majority of the list has one of them (all others, where there are fewer); then as the
/// latest of them have it. Of the list that this one names only nodes with a record count. (With
/// fewer, a closed node became one of S again.) A record that may lack steps does not count; what
/// it says was so once, and the latest may be one of these. Where all nodes of a list were read,
/// and none has a better one, nobody knows more.
class membership {
public:
    enum class standing : std::uint8_t {
        unknown,  ///< Nothing was read.
        empty,    ///< It has no record.
        fits,
        closed,   ///< It takes only programs with another joint list.
        behind,   ///< It has to be turned into the set that another node is of.
        foreign,  ///< It is joining, and has a record of another set.
        misfit,   ///< It is of another set.
    };

    membership(const node_lists& lists, own_sets sets);

    bool is_joint() const noexcept { return lists_.is_joint(); }
    const own_sets& sets() const noexcept { return sets_; }

    /// A node answered a query that went out at `sent`. `facts`: nothing where it has no record.
    /// `may_lack_steps`: see `record_facts`.
    void read(std::size_t node, std::optional<list_facts> facts, const std::string& epoch,
              time_point sent, time_point now, bool may_lack_steps = false);
    /// It answers no more, until it is read again.
    void lost(std::size_t node) noexcept { nodes_[node].is_lost = true; }
    standing of(std::size_t node) const noexcept { return nodes_[node].is; }
    node_mask those_that_are(standing s) const noexcept {
        return node_mask::where(nodes_.size(), [&](std::size_t i) { return nodes_[i].is == s; });
    }
    /// Those of a set that has nothing to do with the client's: it followed none of them.
    node_mask strangers() const noexcept {
        return node_mask::where(nodes_.size(), [&](std::size_t i) {
            const bool is_other =
                nodes_[i].is == standing::misfit || nodes_[i].is == standing::foreign;
            return is_other && !has_moved_on(*nodes_[i].facts);
        });
    }
    /// Those of the old list that leave. Not one that may have followed this list, by which its
    /// number grew, and was declared new since, by which it grew again and the history was lost.
    node_mask leaving_strangers() const noexcept {
        node_mask out = (strangers() & lists_.old()) - lists_.after();
        for (const std::size_t i : out) {
            if (nodes_[i].facts->number > met_ + 1) out.erase(i);
        }
        return out;
    }
    const std::optional<list_facts>& facts(std::size_t node) const noexcept {
        return nodes_[node].facts;
    }
    /// Whether the node is of the new list of a joint one.
    bool is_after(std::size_t node) const noexcept;
    /// Whether leases by the list that the node had before may be alive for a quarantine after it
    /// became one of this list, and the client has to wait for that.
    bool waits_for_earlier(std::size_t node) const noexcept;

    /// Of nodes that are declared new: larger than all that were met, so that a node that is away
    /// has missed it; 0 where the list was never changed.
    std::uint64_t number_to_declare() const noexcept;

    /// Whether a record of a node that has none needs the others to be read again first.
    bool is_strict() const noexcept;
    /// An operator says that these nodes are gone for good, or lost their records, that no other
    /// change was begun, and that no other list is in use: they count as read.
    void presume_gone(node_mask nodes) noexcept { gone_ |= nodes; }
    /// The nodes that may be given a record now, of those that have none.
    node_mask makeable() const;
    /// What a record of the node says beside the usual: nothing where that is all.
    std::optional<list_facts> made(std::size_t node) const;
    /// The nodes to read again, so that a record may be made of one that has none.
    node_mask to_read() const;
    /// A node that has no record gets one when enough of these answer, or have one themselves. None
    /// where it needs none of them, or will have read enough in a moment.
    node_mask waits_for(std::size_t node) const;
    /// The fewest that an operator has to give up where those are lost, too: those that are away
    /// first.
    node_mask to_give_up(std::size_t node) const;
    /// All nodes answer, none of the old list has a record, and a joint list is no first one.
    bool has_no_beginning(std::size_t node) const;
    /// A misfit that should be of the list which a quorum of the others became by a change. Not
    /// where its record is of a later one: then this list may be the one that is not in use.
    bool was_away_at_change(std::size_t node) const;
    /// It has none, and another node is closed for a list that this client does not have: only a
    /// program with that list can give it one.
    bool waits_for_joint_program(std::size_t node) const;

    /// The node is turned into what another one is.
    struct turn {
        list_facts from;   ///< Where it has another record by then, nothing is done.
        std::string epoch;
        list_facts to;
        bool forgets = false;  ///< It may have missed leases.
    };
    std::optional<turn> turn_of(std::size_t node) const;

private:
    struct node_state {
        standing is = standing::unknown;
        std::optional<list_facts> facts;
        bool may_lack_steps = false;  // of the facts, and they are of an own set
        std::string epoch;
        bool is_read = false;
        bool is_lost = false;
        time_point sent{};         // of the query that was answered last
        time_point empty_since{};  // when it was first seen without a record that counts

        bool answers() const noexcept { return is_read && !is_lost; }
        bool lacks_record() const noexcept { return !facts || may_lack_steps; }  // that counts
    };

    standing judge(std::size_t node) const;
    standing judge_own(std::size_t node, const list_facts& f) const;
    bool is_own(const list_facts& f) const noexcept;
    bool is_of_this_change(const list_facts& f) const noexcept;
    bool has_moved_on(const list_facts& f) const noexcept;
    bool has_record_of(std::size_t node) const noexcept;
    bool is_all_without_record(node_mask list) const noexcept;
    bool does_nobody_know_more(node_mask list) const noexcept;
    bool is_missed(std::size_t node) const;
    std::optional<std::size_t> later_than(std::size_t node) const;
    node_mask read_since(std::size_t node) const;
    node_mask counted(std::size_t node, const std::string& set, node_mask list) const;
    static std::size_t needed_of(node_mask list) noexcept;
    bool is_enough(std::size_t node, const std::string& set) const;
    std::optional<std::size_t> latest(node_mask of) const;
    std::optional<list_facts> latest_for(std::size_t node, node_mask seen) const;

    node_lists lists_;
    own_sets sets_;
    std::vector<node_state> nodes_;
    node_mask gone_;
    std::uint64_t met_ = 0;
};

/// The nodes of the old list decide once what follows it, as in Paxos of a single decree
/// (https://lamport.azurewebsites.net/pubs/paxos-simple.pdf): the new list, another new list, or
/// the old one again, where a change is given up.
/// - promise: a majority of the old list takes no lower ballot from then on. Where one was closed
///   already, the list for which it was closed under the highest ballot has to be proposed: two
///   operators, or a first try with a mistyped node, must not leave the set in pieces.
/// - close: from then on a node that has its promise still takes only programs with the joint list
///   of the old set and the proposed one. A majority of the old list has to be closed under this
///   ballot.
/// - confirm: they are read again, and a majority has to be *still* closed. (One that lost its
///   record meanwhile may have been given the old set again, and with another node that was never
///   closed it would be a majority for programs with the old list.)
/// - become: the decided list is written to every node of both lists. Where a node has another
///   record by then nothing is written: a commit that was paused must not undo a later change. A
///   node of the decided list that has none gets one by `membership`, so the step is repeated for
///   such nodes. (Without it the first program with the new list alone took them for a new
///   cluster.)
///
/// Each node gets one request in a step. When all have answered or failed, the next one begins.
///
/// A program may look at no record between its connection and its commands. So its driver lists, on
/// each node that was closed, the connections of programs with another list, behind the close, and
/// ends them; where it can't, or where one of them reads no record at all, the node is `passed_by`,
/// and is no part of the majority that was closed.
class list_commit {
public:
    enum class step : std::uint8_t { read, promise, close, confirm, become, over };

    /// `id`: of this attempt. `gives_up`: the old list is proposed.
    list_commit(const node_lists& lists, own_sets sets, std::string id, bool gives_up);

    step now() const noexcept { return step_; }
    /// The nodes that get a request in this step.
    node_mask requested() const noexcept { return requested_; }
    /// Of a node that fails nothing is said here.
    void answered(std::size_t node, rule_outcome said, const std::optional<list_facts>& facts,
                  std::chrono::milliseconds quarantine, std::chrono::milliseconds ttl_max);
    /// In the step close, of a node that was closed.
    void passed_by(std::size_t node) { agreed_.erase(node); }
    /// Those that did what this step asks of them.
    node_mask agreed() const noexcept { return agreed_; }
    /// Each of these has answered, or failed: the next step begins.
    void advance();
    /// The step was taken before, by nodes that answered: the next time it is due in a moment.
    bool is_repeated() const noexcept { return repetitions_ > 0; }

    const std::string& ballot() const noexcept { return ballot_; }
    /// The record that a node has to have.
    list_facts from() const;
    /// What it becomes, or is closed for.
    list_facts to(std::size_t node) const;
    /// The set that is proposed, or was decided.
    const std::string& proposed() const noexcept { return proposed_; }
    /// The old list goes on, so no program has to wait.
    bool is_undisturbed() const noexcept { return proposed_ == sets_.old; }
    /// At least, of the nodes that become members.
    std::chrono::milliseconds quarantine() const noexcept { return quarantine_; }
    std::chrono::milliseconds ttl_max() const noexcept { return ttl_max_; }

    // Once it is over.

    /// None: the list that was to be proposed stands. other_set: another one does, or the nodes are
    /// of another set. no_quorum; in_quarantine: an earlier change is too recent.
    error_code outcome() const noexcept { return outcome_; }
    /// The set that stands, where one was decided; else empty.
    const std::string& decided() const noexcept { return decided_; }
    /// The nodes whose record names it.
    node_mask changed() const noexcept { return changed_; }
    /// The nodes whose record is of a set that has nothing to do with this change, and which: where
    /// they would have to join nothing was closed, but where the change was decided before.
    node_mask foreign() const noexcept { return foreign_; }
    const std::string& foreign_set(std::size_t node) const { return facts_[node]->set; }
    /// The nodes of the old list that are closed for another set than the wanted one, or did not
    /// promise, where the others are no majority: then that other set, which may have been decided,
    /// is proposed.
    node_mask in_the_way() const noexcept { return in_the_way_; }

private:
    void begin(step what, node_mask to);
    void end(error_code why);
    void after_reading();
    void after_promises();
    void after_closes();
    void after_writing();
    bool is_foreign(std::size_t node) const;
    void begin_again();
    void decide(const std::string& set);
    bool follows_old(const list_facts& f) const;
    bool is_majority_of_old(node_mask nodes) const noexcept;

    static constexpr unsigned most_ballots = 8;
    static constexpr unsigned most_repetitions = 8;

    node_lists lists_;
    own_sets sets_;
    std::string id_;
    std::string wanted_;    // set
    std::string proposed_;  // set
    step step_ = step::read;
    node_mask requested_;
    node_mask agreed_;      // in this step
    node_mask changed_;
    node_mask foreign_;
    node_mask without_record_;  // in this step: they answered, and have no record
    std::vector<std::optional<list_facts>> facts_;  // as last read
    std::uint64_t number_ = 0;  // of the old set
    std::vector<std::pair<std::uint64_t, std::string>> history_;  // of what follows
    std::string ballot_;
    std::string highest_;       // ballot that any node promised
    node_mask in_the_way_;
    unsigned ballots_ = 0;
    unsigned repetitions_ = 0;
    bool is_too_young_ = false;
    std::chrono::milliseconds quarantine_{0};
    std::chrono::milliseconds ttl_max_{0};
    error_code outcome_;
    std::string decided_;
};

}  // namespace redlock::core

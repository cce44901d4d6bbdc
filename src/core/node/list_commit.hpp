// How a change of the list of nodes is ended, step by step; sends nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/node/list_facts.hpp"
#include "core/node/membership.hpp"
#include "value/node_mask.hpp"
#include "value/quorum.hpp"

#include <redlock/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace redlock::core {

/// The nodes of the old list decide once what follows it, as in Paxos of a single decree
/// (https://lamport.azurewebsites.net/pubs/paxos-simple.pdf): the new list, another new list, or the
/// old one again, where a change is given up.
/// - promise: a majority of the old list takes no lower ballot from then on. Where one was closed
///   already, the list for which it was closed under the highest ballot has to be proposed: two
///   operators, or a first try with a mistyped node, must not leave the set in pieces.
/// - close: from then on a node that has its promise still takes only programs with the joint list of
///   the old set and the proposed one. A majority of the old list has to be closed under this ballot.
/// - confirm: they are read again, and a majority has to be *still* closed. (One that lost its record
///   meanwhile may have been given the old set again, and with another node that was never closed it
///   would be a majority for programs with the old list.)
/// - become: the decided list is written to every node of both lists. Where a node has another record
///   by then nothing is written: a commit that was paused must not undo a later change.
///
/// Each node gets one request in a step. When all have answered or failed, the next one begins.
class list_commit {
public:
    enum class step : std::uint8_t { read, promise, close, confirm, become, over };
    /// What a node said to one step.
    enum class answer : std::uint8_t {
        done,
        other,      ///< Its record is another by now, or there is none: nothing was done.
        too_young,  ///< It became a node of the list by a change that is too recent.
        outbid,     ///< It promised a higher ballot.
        failed,     ///< It did not answer.
    };

    /// `id`: of this attempt. `gives_up`: the old list is proposed.
    list_commit(const node_lists& lists, own_sets sets, std::string id, bool gives_up);

    step now() const noexcept { return step_; }
    /// The nodes that get a request in this step.
    node_mask requested() const noexcept { return requested_; }
    void answered(std::size_t node, answer said, const std::optional<list_facts>& facts,
                  std::chrono::milliseconds quarantine, std::chrono::milliseconds ttl_max);
    /// Each of these has answered, or failed: the next step begins.
    void advance();

    const std::string& ballot() const noexcept { return ballot_; }
    /// The record that a node has to have.
    list_facts from() const;
    /// What it becomes, or is closed for.
    list_facts to(std::size_t node) const;
    /// The old list goes on, so no program has to wait.
    bool is_undisturbed() const noexcept { return proposed_ == sets_.old; }
    /// At least, of the nodes that become members.
    std::chrono::milliseconds quarantine() const noexcept { return quarantine_; }
    std::chrono::milliseconds ttl_max() const noexcept { return ttl_max_; }

    // Once it is over.

    /// None: the list that was to be proposed stands. other_set: another one does, or the nodes are of
    /// another set. no_quorum; in_quarantine: an earlier change is too recent.
    error_code outcome() const noexcept { return outcome_; }
    /// The set that stands, where one was decided; else empty.
    const std::string& decided() const noexcept { return decided_; }
    /// The nodes whose record names it.
    node_mask changed() const noexcept { return changed_; }
    node_mask closed() const noexcept { return closed_; }

private:
    void begin(step what, node_mask to);
    void end(error_code why);
    void after_reading();
    void after_promises();
    void after_closes();
    void begin_again();
    void decide(const std::string& set);
    bool follows_old(const list_facts& f) const;
    bool is_majority_of_old(node_mask nodes) const noexcept;

    static constexpr unsigned most_ballots = 8;

    node_lists lists_;
    own_sets sets_;
    std::string id_;
    std::string wanted_;    // set
    std::string proposed_;  // set
    step step_ = step::read;
    node_mask requested_;
    node_mask agreed_;      // in this step
    node_mask changed_;
    node_mask closed_;
    std::vector<std::optional<list_facts>> facts_;  // as last read
    std::uint64_t number_ = 0;  // of the old set
    std::vector<std::pair<std::uint64_t, std::string>> history_;  // of what follows
    std::string names_;         // of what follows, where a record tells
    std::string ballot_;
    std::string highest_;       // ballot that any node promised
    std::string accepted_;      // the highest under which a node was closed
    unsigned ballots_ = 0;
    bool is_too_young_ = false;
    std::chrono::milliseconds quarantine_{0};
    std::chrono::milliseconds ttl_max_{0};
    error_code outcome_;
    std::string decided_;
};

}  // namespace redlock::core
